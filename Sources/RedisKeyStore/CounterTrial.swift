import Attestation
import Bytes
import Crypto
import KeyStore
import Redis

/// Calls of both scripts on names that no gateway uses.
struct CounterTrial {
    let incarnation = Incarnation(RandomBytes.word())
    private let layout: RedisKeyLayout
    private let recordName: [UInt8]
    private let keyID: KeyID
    private let isCluster: Bool

    /// The calls: one that is accepted, the same again, and the same counter with another
    /// challenge.
    static let calls: [(counter: UInt32, challenge: UInt64, expected: CounterScript.Code)] = [
        (1, 1, .accepted), (1, 1, .replayed), (1, 2, .counterUsed),
    ]
    private static let lifeMilliseconds = 60_000

    init(prefix: String, isCluster: Bool) {
        let name = IncarnationScript.text(Incarnation(RandomBytes.word()))
        layout = RedisKeyLayout(prefix: "\(prefix)doctor:\(name):")
        keyID = KeyID(digest: RandomBytes.bytes32())
        self.isCluster = isCluster
        // In a cluster all names of the trial are in one slot.
        recordName = layout.record(tag: isCluster ? layout.tag(keyID) : nil)
    }

    /// The slot of all names of the trial.
    var slot: RedisSlot { RedisSlot(ofKey: recordName) }

    /// Writes a record of no gateway that expires, so that nothing stays. The incarnation script
    /// leaves the expiry of a record as it is.
    var record: RedisCommand {
        var command = RedisCommand("SET")
        command.append(recordName)
        command.append("none")
        command.append("PX")
        command.append(Self.lifeMilliseconds)
        return command
    }

    var incarnationCall: RedisCommand {
        IncarnationScript.command(record: recordName, fresh: incarnation, isCluster: isCluster)
    }

    /// `now`: the time by the server's clock.
    func counterCall(
        _ digest: String, counter: UInt32, challenge: UInt64, now: Int64
    ) -> RedisCommand {
        var command = RedisCommand()
        CounterScript.Call(
            part: .whole, names: names(challenge), incarnation: incarnation, mark: counter,
            windowSize: 1, floor: 0, expiresAt: now + Int64(Self.lifeMilliseconds),
            graceMilliseconds: 0, stateMilliseconds: Self.lifeMilliseconds, look: .whole
        ).write(
            CounterFrame(
                layout, digest: digest, record: recordName, isRecordKey: true,
                isCluster: isCluster),
            to: &command)
        return command
    }

    var removal: RedisCommand {
        var command = RedisCommand("DEL")
        command.append(recordName)
        layout.append(names(1), .whole, to: &command)
        return command
    }

    private func names(_ challenge: UInt64) -> CounterNames {
        CounterNames(keyID: keyID, challenge: Bytes16(word0: 0, word1: challenge))
    }
}
