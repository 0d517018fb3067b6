import Attestation
import KeyStore
import Redis

/// The script that accepts a counter and spends a challenge, or does neither.
///
/// All checks come before the first write, and a script runs alone in its server, so that nothing
/// is ever done in part and two callers cannot both win. A call without a fault takes three reads
/// and two writes.
///
/// Role, replication history and time are compared at every call, at half of the script's cost: a
/// server that is demoted, filled with older data and promoted again keeps its connections and its
/// process, and the record of the incarnation comes back with the data. Comparing the rest of
/// ``ServerLife`` costs as much as everything else. It is compared if the device has no state,
/// which may have been evicted, and by the first call of a worker after ``lookInterval``: so by
/// every call if there are few, and by few calls if there are many.
package enum CounterScript {
    /// The script's answers. None of them is 0 or 1, which half of Redis' own commands answer.
    enum Code: Int64, CaseIterable {
        case accepted = 11
        case challengeSpent = 12
        case counterUsed = 13
        case revoked = 14
        case incarnationChanged = 15
        case replayed = 16
        /// A rate limit has no token. The reply holds the rate's number, from 1, and the
        /// milliseconds until it has one.
        case rateLimited = 17
        case counterTooLow = 18
        /// The device's state was invalid, and has been replaced.
        case stateHealed = 19
        case challengeExpired = 20
    }

    /// The part of the work that one call does.
    enum Part: String {
        /// The whole of it: challenge and counter are in the same slot.
        case whole
        /// Spends a challenge in another slot than the counter.
        case spend
        /// Accepts the counter for which such a challenge was spent.
        case count
    }

    /// The part of the server's identity that the script compares if the device's state shows that
    /// nothing was lost.
    enum Look: String {
        /// Role, history and time.
        case quick
        /// The whole identity.
        case whole
    }

    /// The bits of the ring: the number of counters below the highest that are remembered, and so
    /// the widest window.
    static let windowSizeMax = 1024
    /// The window of a key that does not count: its challenge is spent, and no counter is looked
    /// at.
    static let noCounter = 0
    /// The time for which a worker's calls rely on the identity that one of them has checked.
    static let lookInterval = Duration.milliseconds(50)
    /// The longest life in milliseconds: far beyond any life of a challenge, far below the limit of
    /// Redis for `PX`.
    private static let lifeMax: Int64 = 100 * 366 * 24 * 3600 * 1000
    /// The most buckets of one device. The script cannot be told more limits.
    static let rateCountMax = 8

    /// The arguments of one call.
    struct Call {
        let part: Part
        let names: CounterNames
        let incarnation: Incarnation
        /// The counter, or the mark that tells requests with one challenge apart.
        let mark: UInt32
        /// ``noCounter`` of a key that does not count.
        let windowSize: Int
        let floor: UInt32
        let expiresAt: Int64
        let graceMilliseconds: Int
        let stateMilliseconds: Int
        var rates: [CounterRate] = []
        /// The time in the record that the worker saw last.
        var notedMilliseconds: Int64 = 0
        var look = Look.quick

        /// Writes the call to the master of `frame`.
        func write(_ frame: CounterFrame, to command: inout RedisCommand) {
            command.clear()
            frame.begin(part, names, in: &command)
            command.append(paddedHexadecimal: incarnation.value)
            command.append(Int(mark))
            command.append(windowSize)
            command.append(Int(floor))
            command.append(Int(expiresAt))
            command.append(graceMilliseconds)
            command.append(stateMilliseconds)
            command.append(Int(notedMilliseconds))
            frame.end(look, in: &command)
            guard part != .spend else { return }
            for rate in rates.prefix(CounterScript.rateCountMax) {
                command.append(rate.identityBytes)
                command.append(rate.intervalMicroseconds)
                command.append(rate.depthMicroseconds)
            }
        }
    }

    /// KEYS: 1 revocation mark, 2 device state, 3 mark of the spent challenge, which holds the
    /// counter that it was spent with, 4 incarnation record. Only 3 to `spend`, only 1 and 2 to
    /// `count`; without 4 if a cluster would not accept a name of another slot, which is read all
    /// the same.
    /// ARGV: 1 part, 2 name of the incarnation record, 3 incarnation of the challenge (to `count`:
    /// that of the server, as its worker knows it), 4 counter or mark, 5 window size (0 without a
    /// counter), 6 floor, 7 end of the challenge by the server's clock, 8 and 9 the milliseconds
    /// for which the spent mark is kept after that, and the device state after this call, 10 time
    /// of the record when it was last seen, 11 `server` or `cluster`, 12 `whole` to check the whole
    /// identity in any case; then three for each rate: identity, interval, depth.
    ///
    /// A counter whose bit is set in the device's state cannot be used again. So the whole identity
    /// has to be looked at only if there is no state: a server that evicted it has forgotten the
    /// marks of challenges, too. A key that does not count has nothing but those marks, so that
    /// each of its calls looks at the whole.
    ///
    /// The device state (``CounterState``) is the highest counter, a ring of accepted counters and
    /// 16 bytes for each bucket: its identity and when it will be full again, in microseconds of
    /// the server's clock; before the buckets 16 bytes with the identity 0 and the time at which
    /// they were written. Every accepted counter sets its bit, whatever the policy of its route, so
    /// that `strict` and `window(N)` may be mixed on one device. `strict` is a window of one: only
    /// the highest counter itself lies in it, and its bit is set.
    ///
    /// A device without state begins at the floor with all bits set, because lower counters were
    /// used. A device with an invalid state, which nothing here writes, begins at the counter of
    /// the request that found it. The device has signed that request, and it is refused.
    package static let source = """
        local part = ARGV[1]
        local spentName = part == 'spend' and KEYS[1] or KEYS[3]
        local revoked, state = false, false
        if part ~= 'spend' then
          revoked, state = unpack(redis.call('MGET', KEYS[1], KEYS[2]), 1, 2)
          if revoked then return \(Code.revoked.rawValue) end
        end
        local record = redis.call('GET', ARGV[2])
        if not record or #record < \(ServerLife.recordByteCountMin)
            or string.sub(record, 1, 16) ~= ARGV[3] then
          return \(Code.incarnationChanged.rawValue)
        end
        local replication = redis.call('INFO', 'replication')
        if not string.find(replication, '\\nrole:master\\r', 1, true) then
          return redis.error_reply('READONLY this server is not a master')
        end
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local noted = tonumber(string.sub(record, 59, 73)) or -1
        local history = 'master_replid:' .. string.sub(record, 18, 57) .. '\\r'
        local lives = string.find(replication, history, 1, true) and noted >= tonumber(ARGV[10])
            and now >= noted - \(ServerLife.stepMilliseconds)
            and now <= noted + \(ServerLife.lookMilliseconds)
        local counts = ARGV[5] ~= '\(noCounter)'
        if lives and (ARGV[12] == 'whole' or not state or not counts) then
          \(ServerLife.functions)
          local found, commands = identity(ARGV[11] == 'cluster')
          if not found then return redis.error_reply(commands) end
          local counted = tonumber(string.sub(record, 75, 89))
          lives = string.sub(record, \(ServerLife.recordByteCountMin + 1)) == found and counted
              and commands >= counted
        end
        if not lives then
          -- No other gateway shall take it for a living one. What cannot be written ends nothing.
          local ended = redis.pcall('SET', ARGV[2], '', 'KEEPTTL')
          if ended.err then return ended end
          return \(Code.incarnationChanged.rawValue)
        end
        if part ~= 'count' then
          local spent = redis.call('GET', spentName)
          if spent then
            if spent == ARGV[4] then return \(Code.replayed.rawValue) end
            return \(Code.challengeSpent.rawValue)
          end
          if tonumber(ARGV[7]) <= now then return \(Code.challengeExpired.rawValue) end
        end
        local function milliseconds(count) return math.min(math.max(count, 1), \(lifeMax)) end
        local spentFor = milliseconds(tonumber(ARGV[7]) - now + tonumber(ARGV[8]))
        local keptFor = milliseconds(math.max(spentFor, tonumber(ARGV[9])))
        if part == 'spend' then
          local written = redis.pcall('SET', spentName, ARGV[4], 'PX', spentFor)
          if written.err then return written end
          return \(Code.accepted.rawValue)
        end

        local counter, floor = tonumber(ARGV[4]), tonumber(ARGV[6])
        if counts and counter <= floor then return \(Code.counterTooLow.rawValue) end
        \(CounterState.functions)
        local highest, ring, buckets = floor, used, ''
        local keptRing, keptForm = nil, nil
        if state then
          local kept, keptBuckets
          kept, keptRing, keptBuckets, keptForm = decoded(state)
          if not kept then
            local healed = encoded(counts and counter or 0, formed(used), '')
            local written = redis.pcall('SET', KEYS[2], healed, 'PX', keptFor)
            if written.err then return written end
            return \(Code.stateHealed.rawValue)
          end
          if kept >= floor then highest, ring = kept, keptRing end
          buckets = keptBuckets
        end

        if counts then
          local place = math.floor(counter % 1024 / 8)
          local mask = bit.lshift(1, counter % 8)
          if counter > highest then
            local step = counter - highest
            if step >= 1024 then
              ring = string.rep(string.char(0), 128)
            elseif step > 1 then
              local bytes = {string.byte(ring, 1, 128)}
              local passed = highest + 1
              while passed < counter do
                local index = math.floor(passed % 1024 / 8) + 1
                if passed % 8 == 0 and counter - passed >= 8 then
                  bytes[index] = 0
                  passed = passed + 8
                else
                  bytes[index] = bit.band(bytes[index], bit.bnot(bit.lshift(1, passed % 8)))
                  passed = passed + 1
                end
              end
              ring = string.char(unpack(bytes))
            end
            highest = counter
          elseif highest - counter >= 1024 then
            return \(Code.counterTooLow.rawValue)
          elseif bit.band(string.byte(ring, place + 1), mask) ~= 0 then
            return \(Code.counterUsed.rawValue)
          elseif highest - counter >= tonumber(ARGV[5]) then
            return \(Code.counterTooLow.rawValue)
          end
          ring = string.sub(ring, 1, place)
              .. string.char(bit.bor(string.byte(ring, place + 1), mask))
              .. string.sub(ring, place + 2)
        end

        if #ARGV > 12 then
          local now = time[1] * 1000000 + time[2]
          -- As far as the clock has gone back since they were written, so do the buckets.
          local back = 0
          local stamp = string.rep(string.char(0), 8)
          if string.sub(buckets, 1, 8) == stamp then
            back = math.max(struct.unpack('>d', buckets, 9) - now, 0)
            buckets = string.sub(buckets, 17)
          end
          local taken = {}
          for index = 13, #ARGV, 3 do
            local interval, depth = tonumber(ARGV[index + 1]), tonumber(ARGV[index + 2])
            local full = 0
            for at = 1, #buckets, 16 do
              if string.sub(buckets, at, at + 7) == ARGV[index] then
                full = struct.unpack('>d', buckets, at + 8) - back
                buckets = string.sub(buckets, 1, at - 1) .. string.sub(buckets, at + 16)
                break
              end
            end
            -- More was taken than there is if the limit was higher then: the bucket is empty.
            full = math.max(math.min(full, now + depth), now) + interval
            if full - now > depth then
              return {\(Code.rateLimited.rawValue), (index - 10) / 3,
                  math.ceil((full - now - depth) / 1000)}
            end
            taken[#taken + 1] = ARGV[index] .. struct.pack('>d', full)
          end
          for at = 1, #buckets, 16 do
            local full = struct.unpack('>d', buckets, at + 8) - back
            if #taken < \(rateCountMax) and full > now then
              taken[#taken + 1] = string.sub(buckets, at, at + 7) .. struct.pack('>d', full)
            end
          end
          buckets = stamp .. struct.pack('>d', now) .. table.concat(taken)
        end

        -- A replica, a full memory or a failing disk refuse the first write, never a later one.
        if counts or buckets ~= '' then
          -- Most counters come one after another, and change no bit.
          local form = ring == keptRing and keptForm or formed(ring)
          local kept = encoded(highest, form, buckets)
          local written = redis.pcall('SET', KEYS[2], kept, 'PX', keptFor)
          if written.err then return written end
        end
        if part == 'whole' then
          local written = redis.pcall('SET', spentName, ARGV[4], 'PX', spentFor)
          if written.err then return written end
        end
        return \(Code.accepted.rawValue)
        """

    /// A call that shows that the server runs the script, and changes nothing: the script finds the
    /// record in place of a revocation mark, or no record at all.
    static func trial(digest: String, record: [UInt8]) -> RedisCommand {
        var command = RedisCommand("EVALSHA", digest, "2")
        for _ in 0..<2 { command.append(record) }
        command.append("trial")
        command.append(record)
        return command
    }

    /// True if `reply` is the script's answer to ``trial(digest:record:)``.
    static func isOfTrial(_ reply: RedisReply) -> Bool {
        [Code.revoked, .incarnationChanged].contains { reply == .integer($0.rawValue) }
    }

    /// The verdict in `reply`, or nil if it is none of the script's.
    static func verdict(_ reply: RedisReply) -> CounterVerdict? {
        switch reply {
        case .integer(let value):
            switch Code(rawValue: value) {
            case .accepted: .accepted
            case .challengeSpent: .challengeSpent
            case .counterUsed: .counterUsed
            case .counterTooLow: .counterTooLow
            case .revoked: .revoked
            case .incarnationChanged: .incarnationChanged
            case .replayed: .replayed
            case .stateHealed: .stateHealed
            case .challengeExpired: .challengeExpired
            case .rateLimited, nil: nil
            }
        case .array(let parts):
            if parts.count == 3, parts[0] == .integer(Code.rateLimited.rawValue),
                case .integer(let rate) = parts[1], case .integer(let wait) = parts[2], rate > 0,
                wait >= 0
            {
                .rateLimited(Int(rate) - 1, waitMilliseconds: Int(wait))
            } else {
                nil
            }
        default: nil
        }
    }
}

extension CounterRate {
    /// The identity as eight big-endian bytes, the form of the device state.
    fileprivate var identityBytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: identity >> (56 - 8 * UInt64($0))) }
    }
}
