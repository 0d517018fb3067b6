import Bytes

/// The number of requests under way of each client address. It holds an entry for each address that
/// has one, so that the bound on requests bounds it.
///
/// A table with open addressing, because every request passes here twice. Strangers choose their
/// addresses, but do not know the secret that decides the places.
struct AddressTally {
    private struct Entry {
        var network = Bytes16(word0: 0, word1: 0)
        /// The number of requests; 0 for a free entry.
        var count = 0
    }

    /// The entries. Their number is a power of two, and at most half of them are taken.
    private var entries = [Entry](repeating: Entry(), count: 16)
    private(set) var addressCount = 0
    private var total = 0
    private let secret0 = UInt64.random(in: 0 ... .max)
    private let secret1 = UInt64.random(in: 0 ... .max)

    /// Takes one more of the `placeCount` places for `network`. False if it has its `share` already
    /// and the places left for others would be no more than those that it has.
    mutating func take(_ network: Bytes16, share: Int, of placeCount: Int) -> Bool {
        var index = index(of: network)
        let count = entries[index].count
        guard count < share || count < placeCount - total else { return false }
        if count == 0 {
            if (addressCount + 1) * 2 > entries.count {
                grow()
                index = self.index(of: network)
            }
            entries[index].network = network
            addressCount += 1
        }
        entries[index].count = count + 1
        total += 1
        return true
    }

    mutating func giveBack(_ network: Bytes16) {
        let index = index(of: network)
        guard entries[index].count > 0 else { return }
        entries[index].count -= 1
        total -= 1
        if entries[index].count == 0 { free(index) }
    }

    /// The entry of `network`, or the free one for it.
    private func index(of network: Bytes16) -> Int {
        let mask = entries.count - 1
        var index = home(of: network)
        while entries[index].count > 0, entries[index].network != network {
            index = (index + 1) & mask
        }
        return index
    }

    private func home(of network: Bytes16) -> Int {
        let product = (network.word0 ^ secret0).multipliedFullWidth(by: network.word1 ^ secret1)
        let hash = product.high ^ product.low
        return Int(truncatingIfNeeded: hash ^ hash &>> 32) & (entries.count - 1)
    }

    /// Frees an entry, and moves up entries that stand behind their place only because of it.
    private mutating func free(_ index: Int) {
        let mask = entries.count - 1
        addressCount -= 1
        var hole = index
        var next = (hole + 1) & mask
        while entries[next].count > 0 {
            let distance = (next - home(of: entries[next].network)) & mask
            if distance >= (next - hole) & mask {
                entries[hole] = entries[next]
                entries[next].count = 0
                hole = next
            }
            next = (next + 1) & mask
        }
    }

    private mutating func grow() {
        let old = entries
        entries = [Entry](repeating: Entry(), count: old.count * 2)
        for entry in old where entry.count > 0 { entries[index(of: entry.network)] = entry }
    }
}
