import Bytes

/// How many requests of each client address are under way. Holds an entry for each address that has
/// one, so that what bounds the requests bounds it.
struct AddressTally {
    private var counts: [Bytes16: Int] = [:]
    private var total = 0

    var addressCount: Int { counts.count }

    /// One more of `network`, of `placeCount` that there are for all. False if it has `share`
    /// already and no more than it has would be left for the others.
    mutating func take(_ network: Bytes16, share: Int, of placeCount: Int) -> Bool {
        let count = counts[network, default: 0]
        guard count < share || count < placeCount - total else { return false }
        counts[network] = count + 1
        total += 1
        return true
    }

    mutating func giveBack(_ network: Bytes16) {
        let count = counts[network, default: 0]
        counts[network] = count > 1 ? count - 1 : nil
        total -= 1
    }
}
