/// The outcome of reading the file of the counts of quotas at a start.
public enum QuotaOpening: Hashable, Sendable {
    /// There is no file.
    case none
    /// `isClean`: false if the process before was killed, so that what its counts took in the last
    /// batch was charged once more. `leftOutCount`: the number of counts for which there is no
    /// room.
    case resumed(countCount: Int, isClean: Bool, leftOutCount: Int)
    /// Nothing was read, for this reason in words for the operator.
    case lost(String)
}
