import Bytes
import KeyStore
import Redis

/// Counts that gateways share: a number, or the registers of a sketch, for each half of a window.
///
/// Apart from the counter script, and without its incarnation: what is lost was only a signal. It
/// needs no right that the counter script does not need.
enum TallyScript {
    static let registerCount = 256

    private static let text = """
        local current = redis.call('GET', KEYS[1])
        if ARGV[1] ~= 'register' then
            current = tonumber(current or '0')
            if ARGV[1] == 'event' then
                current = current + 1
                redis.call('SET', KEYS[1], current, 'PX', ARGV[4])
            end
            return {tostring(current), redis.call('GET', KEYS[2]) or '0'}
        end
        local index, rank = tonumber(ARGV[2]) + 1, tonumber(ARGV[3])
        if not current or #current ~= 256 then current = string.rep('\\0', 256) end
        if current:byte(index) < rank then
            current = current:sub(1, index - 1) .. string.char(rank) .. current:sub(index + 1)
            redis.call('SET', KEYS[1], current, 'PX', ARGV[4])
        end
        return {current, redis.call('GET', KEYS[2]) or ''}
        """

    /// `names`: of this half and of the one before.
    static func command(
        _ tally: SharedTally, names: (current: [UInt8], previous: [UInt8])
    ) -> RedisCommand {
        var command = RedisCommand("EVAL", text, "2")
        command.append(names.current)
        command.append(names.previous)
        switch tally.change {
        case .event: for word in ["event", "0", "0"] { command.append(word) }
        case .look: for word in ["look", "0", "0"] { command.append(word) }
        case .register(let index, let rank):
            for word in ["register", "\(index)", "\(rank)"] { command.append(word) }
        }
        // The half that follows still reads it.
        command.append("\(max(1, 2 * tally.halfMilliseconds))")
        return command
    }

    /// The counts in a reply. Nil for an answer that makes no sense.
    static func counts(_ reply: RedisReply, of tally: SharedTally) -> SharedCounts? {
        guard case .array(let parts) = reply, parts.count == 2,
            case .bulk(let current) = parts[0], case .bulk(let previous) = parts[1]
        else { return nil }
        switch tally.change {
        case .event, .look:
            guard let current = Int(String(decoding: current, as: UTF8.self)),
                let previous = Int(String(decoding: previous, as: UTF8.self))
            else { return nil }
            return .events(current: current, previous: previous)
        case .register:
            guard current.count == registerCount, [0, registerCount].contains(previous.count)
            else { return nil }
            return .registers(current: current, previous: previous)
        }
    }
}
