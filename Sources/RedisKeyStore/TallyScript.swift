import Bytes
import KeyStore
import Redis

/// Counts that gateways share: a number, a sketch of different things, or the span of a key's
/// counters, for each half of a window.
///
/// Apart from the counter script, and without its incarnation, because a loss concerns only a
/// signal. It needs no right that the counter script does not need.
enum TallyScript {
    private static let eventText = """
        local current = tonumber(redis.call('GET', KEYS[1]) or '0')
        if ARGV[1] == 'event' then
            current = current + 1
            redis.call('SET', KEYS[1], current, 'PX', ARGV[2])
        end
        return {tostring(current), redis.call('GET', KEYS[2]) or '0'}
        """

    /// A sketch has up to 31 hashes, each of eight bytes, or 256 registers. The lowest byte of a
    /// hash chooses the register, and the others' zeros, from the lowest bit, are what it holds.
    private static let sketchText = """
        local function raise(sketch, hash)
            local index, rank = hash:byte(1) + 1, 1
            for at = 2, 8 do
                local byte = hash:byte(at)
                if byte == 0 then
                    rank = rank + 8
                else
                    while byte % 2 == 0 do byte, rank = byte / 2, rank + 1 end
                    break
                end
            end
            if sketch:byte(index) >= rank then return sketch end
            return sketch:sub(1, index - 1) .. string.char(rank) .. sketch:sub(index + 1)
        end
        local before = redis.call('GET', KEYS[1]) or ''
        local after, hash, isKnown = before, ARGV[1], false
        if #after > 256 or #after % 8 ~= 0 then after = '' end
        if #after < 256 then
            for at = 1, #after, 8 do
                isKnown = isKnown or after:sub(at, at + 7) == hash
            end
            if not isKnown then after = after .. hash end
            if #after == 256 then
                local hashes = after
                after = string.rep('\\0', 256)
                for at = 1, 249, 8 do after = raise(after, hashes:sub(at, at + 7)) end
            end
        else
            after = raise(after, hash)
        end
        if after ~= before then redis.call('SET', KEYS[1], after, 'PX', ARGV[2]) end
        return {after, redis.call('GET', KEYS[2]) or ''}
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
        let script =
            switch tally.change {
            case .counter: counterText
            case .event, .look: eventText
            case .distinct: sketchText
            }
        var command = RedisCommand("EVAL", script, "2")
        command.append(names.current)
        command.append(names.previous)
        switch tally.change {
        case .counter(let counter): command.append(Int(counter))
        case .event: command.append("event")
        case .look: command.append("look")
        case .distinct(let hash):
            command.append((0..<8).map { UInt8(truncatingIfNeeded: hash >> ($0 * 8)) })
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
        case .distinct: return .sketches(current: current, previous: previous)
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
