import Bytes
import Crypto
import KeyStore
import Redis

/// The script that finds the incarnation of a server, or begins a new one.
///
/// The record names the process (`run_id`) and the replication history (`master_replid`) under
/// which it was written, and the other facts that ``ServerLife`` lists. A restart changes the
/// first, a promotion the second, also if a master was demoted, filled from a replica that lagged
/// behind it, and promoted again without ever stopping. A record of another process or history was
/// copied, restored or replicated from elsewhere, and counters may be missing beside it. The script
/// reads all of it itself, so that nothing can happen between looking and replacing.
///
/// The history also changes when a master gets its first replica, or gets one after an hour without
/// any. Clients then sign once more than necessary.
///
/// Each look writes the record again with the server's time, and the gateway that looked remembers
/// that time: a record that is older than what a gateway has seen came back from a dump, and one
/// that no gateway has looked at for long may have come back with its whole machine.
///
/// In a cluster each master has a record of its own, with its configuration epoch. A master that
/// takes a slot back from another has a higher epoch than before, so that counters that the other
/// lost while it had the slot are refused here.
///
/// A server that may evict keys is refused: it would forget a spent challenge together with its
/// counter. One that has evicted keys begins another incarnation.
package enum IncarnationScript {
    static let digitCount = 16
    static let historyByteCount = 40

    /// KEYS: 1 incarnation record. ARGV: 1 a new incarnation, 2 `cluster` or nothing; 3 the history
    /// of a server that was looked at before, 4 the time that its record had then, 5 the least that
    /// its clock shows by now. Answers with the valid incarnation, the history, the time of the
    /// record, the time of the clock, and the words in which the server refuses to write, if it
    /// does.
    /// does.
    package static let source =
        ServerLife.functions + """
            local replication = redis.call('INFO', 'replication')
            if not string.find(replication, '\\nrole:master\\r', 1, true) then
              return redis.error_reply('READONLY this server is not a master')
            end
            local history = value(replication, 'master_replid')
            if not history or #history ~= \(historyByteCount) then
              return redis.error_reply('NOIDENTITY INFO names no master_replid')
            end
            local identity, commands = identity(ARGV[2] == 'cluster')
            if not identity then return redis.error_reply(commands) end
            local now = clock()
            local incarnation, noted = nil, now
            local record = redis.pcall('GET', KEYS[1])
            if type(record) == 'table' and not string.find(record.err, 'WRONGTYPE', 1, true) then
              return record
            end
            if type(record) == 'string' and string.sub(record, 18, 57) == history
                and string.sub(record, \(ServerLife.recordByteCountMin + 1)) == identity then
              local last = tonumber(string.sub(record, 59, 73)) or -1
              local counted = tonumber(string.sub(record, 75, 89)) or -1
              local isAsSeen = ARGV[3] ~= history
                  or last >= tonumber(ARGV[4]) and now >= tonumber(ARGV[5])
              if isAsSeen and counted >= 0 and commands >= counted
                  and now >= last - \(ServerLife.stepMilliseconds)
                  and now <= last + \(ServerLife.lookMilliseconds) then
                incarnation, noted = string.sub(record, 1, 16), math.max(last, now)
              end
            end
            local written = redis.pcall('SET', KEYS[1], (incarnation or ARGV[1]) .. ' ' .. history
                .. string.format(' %015d %015d ', noted, commands) .. identity, 'KEEPTTL')
            if written.err then
              if not incarnation then return written end
              -- A full memory ends no incarnation; the time of this look is not noted.
              noted = tonumber(string.sub(record, 59, 73))
            end
            return {incarnation or ARGV[1], history, noted, now, written.err or ''}
            """

    static func command(
        record: [UInt8], fresh: Incarnation = Incarnation(RandomBytes.word()),
        isCluster: Bool = false, since last: ServerLook? = nil, earliestMilliseconds: Int64 = 0
    ) -> RedisCommand {
        var command = RedisCommand("EVAL", source, "1")
        command.append(record)
        command.append(text(fresh))
        command.append(isCluster ? "cluster" : "")
        command.append(last?.history ?? "")
        command.append("\(last?.notedMilliseconds ?? 0)")
        command.append("\(earliestMilliseconds)")
        return command
    }

    /// The incarnation as sixteen hexadecimal digits.
    static func text(_ incarnation: Incarnation) -> String { Hex.encode(incarnation.value) }

    /// Parses an incarnation. Nil for anything that ``text(_:)`` does not write.
    static func incarnation(_ text: String) -> Incarnation? {
        guard text.utf8.count == digitCount, let value = UInt64(text, radix: 16) else { return nil }
        let incarnation = Incarnation(value)
        return Self.text(incarnation) == text ? incarnation : nil
    }
}

/// The findings of a look at a server.
struct ServerLook: Hashable {
    let incarnation: Incarnation
    /// The server's `master_replid`.
    let history: String
    /// The time in the record: the highest that the server's clock has shown to any gateway.
    let notedMilliseconds: Int64
    /// The present time of the server's clock.
    let milliseconds: Int64
    /// The words in which the server refuses to write, so that it accepts nothing. Nil if it does
    /// not.
    let refusal: String?

    /// What a server's clock may say: numbers that Lua has whole.
    private static let moments: ClosedRange<Int64> = 1...(1 << 53)

    /// Parses a reply. Nil if it is not the script's answer.
    init?(_ reply: RedisReply) {
        guard case .array(let parts) = reply, parts.count == 5,
            let incarnation = parts[0].text.flatMap(IncarnationScript.incarnation),
            let history = parts[1].text,
            history.utf8.count == IncarnationScript.historyByteCount,
            case .integer(let noted) = parts[2], case .integer(let milliseconds) = parts[3],
            Self.moments.contains(noted), Self.moments.contains(milliseconds),
            let words = parts[4].text
        else { return nil }
        self.incarnation = incarnation
        self.history = history
        notedMilliseconds = noted
        self.milliseconds = milliseconds
        refusal = words.isEmpty ? nil : String(words.prefix(200))
    }
}
