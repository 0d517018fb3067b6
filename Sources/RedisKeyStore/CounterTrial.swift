import AppAttest
import Bytes
import Crypto
import Redis

/// Calls of both scripts on names that nobody else uses.
struct CounterTrial {
    let incarnation = Incarnation(RandomBytes.word())
    private let layout: RedisKeyLayout
    private let device: [UInt8]
    private let identity: String

    /// Accepted, seen again, and the same counter with another challenge.
    static let calls: [(counter: UInt32, challenge: UInt64, expected: CounterScript.Code)] = [
        (1, 1, .accepted), (1, 1, .replayed), (1, 2, .counterUsed),
    ]
    private static let lifeMilliseconds = 60_000

    init(prefix: String, identity: String) {
        let name = IncarnationScript.text(Incarnation(RandomBytes.word()))
        layout = RedisKeyLayout(prefix: "\(prefix)doctor:\(name):")
        device = layout.device(KeyID(digest: RandomBytes.bytes32()))
        self.identity = identity
    }

    /// Writes the record that the incarnation script would write, but with an end: so the script
    /// finds it and writes nothing that would stay.
    var record: RedisCommand {
        var command = RedisCommand("SET")
        command.append(layout.incarnation)
        command.append(IncarnationScript.text(incarnation) + identity)
        command.append("PX")
        command.append(Self.lifeMilliseconds)
        return command
    }

    var incarnationCall: RedisCommand { IncarnationScript.command(layout) }

    func counterCall(_ digest: String, counter: UInt32, challenge: UInt64) -> RedisCommand {
        var command = RedisCommand()
        CounterScript.Call(
            incarnationRecord: layout.incarnation, revocationMark: layout.revoked(device),
            deviceState: layout.counter(device), spentMark: spentMark(challenge),
            incarnation: incarnation, counter: counter, windowSize: 1, floor: 0,
            spentMilliseconds: Self.lifeMilliseconds, stateMilliseconds: Self.lifeMilliseconds
        ).write(digest: digest, to: &command)
        return command
    }

    var removal: RedisCommand {
        var command = RedisCommand("DEL")
        for name in [layout.incarnation, layout.counter(device), spentMark(1)] {
            command.append(name)
        }
        return command
    }

    private func spentMark(_ challenge: UInt64) -> [UInt8] {
        layout.spent(device, challenge: Bytes16(word0: 0, word1: challenge))
    }
}
