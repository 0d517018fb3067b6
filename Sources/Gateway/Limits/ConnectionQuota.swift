import Bytes
import EventLoop

/// The number of open connections of each address, over all workers. It holds an entry for each
/// address that has one, so that the limits on connections bound it.
final class ConnectionQuota: Sendable {
    private static let shardCount = 32
    private let shards = (0..<shardCount).map { _ in Locked<[Bytes16: Int]>([:]) }

    /// Takes a place for one more connection of `network`; nil if it has `countMax` already.
    func take(_ network: Bytes16, atMost countMax: Int) -> QuotaPlace? {
        let isTaken = shard(of: network).withLock { counts in
            let count = counts[network, default: 0]
            guard count < countMax else { return false }
            counts[network] = count + 1
            return true
        }
        return isTaken ? QuotaPlace(quota: self, network: network) : nil
    }

    fileprivate func giveBack(_ network: Bytes16) {
        shard(of: network).withLock { counts in
            let count = counts[network, default: 0]
            counts[network] = count > 1 ? count - 1 : nil
        }
    }

    private func shard(of network: Bytes16) -> Locked<[Bytes16: Int]> {
        shards[Int(UInt(bitPattern: network.hashValue) % UInt(Self.shardCount))]
    }
}

/// One connection's place in its address's quota, given back with the last reference to it.
final class QuotaPlace: Sendable {
    private let quota: ConnectionQuota
    private let network: Bytes16

    fileprivate init(quota: ConnectionQuota, network: Bytes16) {
        self.quota = quota
        self.network = network
    }

    deinit { quota.giveBack(network) }
}
