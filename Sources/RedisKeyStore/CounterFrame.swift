import Redis

/// The arguments that all calls of the counter script at one master share, encoded once.
final class CounterFrame {
    private let layout: RedisKeyLayout
    /// The arguments before the names of the keys, and those after them, of each part.
    private let whole: (RedisCommand, RedisCommand)
    private let spend: (RedisCommand, RedisCommand)
    private let count: (RedisCommand, RedisCommand)
    private let quickLook: RedisCommand
    private let wholeLook: RedisCommand

    /// `digest`: the script's SHA-1, as the server gave it. `record`: the name of the incarnation's
    /// record; it is one of the script's keys if the server allows that (`isRecordKey`).
    init(
        _ layout: RedisKeyLayout, digest: String, record: [UInt8], isRecordKey: Bool,
        isCluster: Bool
    ) {
        func ends(_ part: CounterScript.Part, keyCount: Int) -> (RedisCommand, RedisCommand) {
            var start = RedisCommand("EVALSHA", digest)
            start.append(keyCount)
            var rest = RedisCommand()
            if isRecordKey, part == .whole { rest.append(record) }
            rest.append(part.rawValue)
            rest.append(record)
            return (start, rest)
        }
        self.layout = layout
        whole = ends(.whole, keyCount: isRecordKey ? 4 : 3)
        spend = ends(.spend, keyCount: 1)
        count = ends(.count, keyCount: 2)
        let kind = isCluster ? "cluster" : "server"
        quickLook = RedisCommand(kind, CounterScript.Look.quick.rawValue)
        wholeLook = RedisCommand(kind, CounterScript.Look.whole.rawValue)
    }

    /// Appends all that stands before what each call has of its own.
    func begin(
        _ part: CounterScript.Part, _ names: CounterNames, in command: inout RedisCommand
    ) {
        let ends =
            switch part {
            case .whole: whole
            case .spend: spend
            case .count: count
            }
        command.append(argumentsOf: ends.0)
        layout.append(names, part, to: &command)
        command.append(argumentsOf: ends.1)
    }

    /// Appends what stands before the rates.
    func end(_ look: CounterScript.Look, in command: inout RedisCommand) {
        switch look {
        case .quick: command.append(argumentsOf: quickLook)
        case .whole: command.append(argumentsOf: wholeLook)
        }
    }
}
