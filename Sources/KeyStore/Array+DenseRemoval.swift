extension Array {
    /// Removes the element at `index`. The last element takes its place, so that no other moves.
    mutating func removeDensely(at index: Int) {
        let last = removeLast()
        if index < count { self[index] = last }
    }
}
