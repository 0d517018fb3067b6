extension Array {
    /// Removes all elements and keeps the storage. For a handful of elements this costs less than
    /// `removeAll(keepingCapacity: true)`.
    @inlinable
    public mutating func removeFew() { while !isEmpty { removeLast() } }
}
