import Bytes
import KeyStore
import Redis

/// Counts that gateways share: a number, the registers of a sketch, or the span of a key's
/// counters, for each half of a window.
///
/// Apart from the counter script, and without its incarnation, because a loss concerns only a
/// signal. It needs no right that the counter script does not need.
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

    /// A half continues where the one before it ended. Earlier ones do not count: a key that was
    /// refused for a whole window begins anew.
    private static let counterText = """
        local previous = redis.call('GET', KEYS[2]) or ''
        local pattern = '^(%d+) (%d+) (%d+)$'
        local counter = tonumber(ARGV[1])
        local base, highest, seen = string.match(redis.call('GET', KEYS[1]) or '', pattern)
        if not base then
            local _, last = string.match(previous, pattern)
            base, seen = last or counter - 1, 0
            highest = base
        end
        highest = math.max(tonumber(highest), counter)
        local current = string.format('%.0f %.0f %.0f', base, highest, seen + 1)
        redis.call('SET', KEYS[1], current, 'PX', ARGV[2])
        return {current, previous}
        """

    /// `names`: the names of this half and of the one before.
    static func command(
        _ tally: SharedTally, names: (current: [UInt8], previous: [UInt8])
    ) -> RedisCommand {
        var isCounter = false
        if case .counter = tally.change { isCounter = true }
        var command = RedisCommand("EVAL", isCounter ? counterText : text, "2")
        command.append(names.current)
        command.append(names.previous)
        switch tally.change {
        case .counter(let counter): command.append(Int(counter))
        case .event: for word in ["event", "0", "0"] { command.append(word) }
        case .look: for word in ["look", "0", "0"] { command.append(word) }
        case .register(let index, let rank):
            for word in ["register", "\(index)", "\(rank)"] { command.append(word) }
        }
        // The following half still reads it.
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
        case .counter:
            guard let current = span(current) else { return nil }
            return .counters(current: current, previous: span(previous))
        }
    }

    private static func span(_ text: [UInt8]) -> CounterSpan? {
        let numbers = String(decoding: text, as: UTF8.self).split(separator: " ").map { UInt32($0) }
        guard numbers.count == 3, let base = numbers[0], let highest = numbers[1],
            let seenCount = numbers[2]
        else { return nil }
        return CounterSpan(base: base, highest: highest, seenCount: seenCount)
    }
}
