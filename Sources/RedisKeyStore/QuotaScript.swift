import KeyStore
import Redis

/// Changes a count of a quota, which is the text of a ``QuotaHistory``.
///
/// The script first takes in what the gateway knows of the count, in case a failover has lost it,
/// and then charges under the incarnation that the gateway has found. It needs no right that the
/// counter script does not need. Numbers of Lua are exact up to ``QuotaSums/sumMax``.
enum QuotaScript {
    private enum Answer: Int64 {
        case granted = 31
        case exhausted = 32
    }

    /// The time for which a count is kept after its period: for requests that come from it, and for
    /// gateways whose clocks are behind.
    static let graceMilliseconds: Int64 = 3_600_000

    /// A value that nothing here writes counts as none.
    private static let text = """
        local order, sums = {}, {}
        local function part(incarnation)
            if not sums[incarnation] and #order < \(QuotaHistory.partCountMax) then
                order[#order + 1] = incarnation
                sums[incarnation] = {0, 0}
            end
            return sums[incarnation]
        end
        local function raise(sums, place, number)
            sums[place] = math.max(sums[place], math.min(number, \(QuotaSums.sumMax)))
        end
        local function merge(text)
            for incarnation, taken, returned in string.gmatch(
                text, '(%x%x%x%x%x%x%x%x) (%d+) (%d+)') do
                local sums = part(incarnation)
                if sums then
                    raise(sums, 1, tonumber(taken))
                    raise(sums, 2, tonumber(returned))
                end
            end
        end
        local found = redis.call('GET', KEYS[1]) or ''
        merge(found)
        merge(ARGV[6])
        local taken, used = 0, 0
        for _, sums in pairs(sums) do
            taken = taken + sums[1]
            used = used + sums[1] - sums[2]
        end
        local change, amount, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
        local answer = \(Answer.granted.rawValue)
        if change == 'take' or change == 'look' then
            local needed = change == 'look' and 1 or amount
            if used + needed > limit or taken + needed > \(QuotaSums.sumMax) then
                answer, amount = \(Answer.exhausted.rawValue), 0
            end
        end
        local place = change == 'back' and 2 or 1
        if change == 'reset' then
            amount, place = math.abs(used), used > 0 and 2 or 1
        end
        if amount > 0 then
            local sums = part(ARGV[5]) or sums[order[#order]]
            raise(sums, place, sums[place] + amount)
        end
        local words = {}
        for number, incarnation in ipairs(order) do
            words[number] = string.format(
                '%s %.0f %.0f', incarnation, sums[incarnation][1], sums[incarnation][2])
        end
        local value = table.concat(words, ' ')
        if value ~= found then redis.call('SET', KEYS[1], value, 'PX', ARGV[4]) end
        return {answer, value}
        """

    /// `name`: the name of the count. `known`: what the gateway knows of it. `wall`: the present
    /// time. The life of the count is measured from there, so Redis' clock does not matter.
    static func command(
        _ charge: QuotaCharge, name: [UInt8], in incarnation: UInt32, known: QuotaHistory,
        wall: Int64
    ) -> RedisCommand {
        var command = RedisCommand("EVAL", text, "1")
        command.append(name)
        switch charge.change {
        case .take(let amount): append("take", amount, to: &command)
        case .look: append("look", 0, to: &command)
        case .add(let amount): append("add", amount, to: &command)
        case .giveBack(let amount): append("back", amount, to: &command)
        case .reset: append("reset", 0, to: &command)
        }
        command.append(QuotaSums.bounded(charge.limit))
        let period = charge.count.period
        let left = min(max(0, period.upperBound - wall), period.upperBound - period.lowerBound)
        command.append(Int(left + graceMilliseconds))
        command.append(QuotaHistory.text(incarnation))
        command.append(known.text)
        return command
    }

    private static func append(_ change: String, _ amount: Int, to command: inout RedisCommand) {
        command.append(change)
        command.append(QuotaSums.bounded(amount))
    }

    /// The verdict in a reply, and the count after it. Nil for an answer that makes no sense.
    static func verdict(
        _ reply: RedisReply
    ) -> (verdict: QuotaVerdict, history: QuotaHistory)? {
        guard case .array(let parts) = reply, parts.count == 2, case .integer(let code) = parts[0],
            let answer = Answer(rawValue: code), case .bulk(let text) = parts[1],
            let history = QuotaHistory(text)
        else { return nil }
        switch answer {
        case .granted: return (.granted(used: history.used), history)
        case .exhausted: return (.exhausted(used: history.used), history)
        }
    }
}
