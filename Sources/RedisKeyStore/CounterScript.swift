import AppAttest
import KeyStore
import Redis

/// The script that accepts a counter and spends a challenge, or does neither.
///
/// All checks come before the first write, and a script runs alone in its server, so that nothing
/// is ever done in part and no two callers can both win. Two reads and two writes when all is well.
///
/// The replication history is compared at every call, at a third of the script's cost: a server
/// that is demoted, filled with older data and promoted again keeps its connections and its
/// process, and the record of the incarnation comes back with the data.
enum CounterScript {
    /// What the script answers. None of them is 0 or 1, which half of Redis' own commands answer.
    enum Code: Int64, CaseIterable {
        case accepted = 11
        case challengeSpent = 12
        case counterUsed = 13
        case revoked = 14
        case incarnationChanged = 15
        case replayed = 16

        var verdict: CounterVerdict {
            switch self {
            case .accepted: .accepted
            case .challengeSpent: .challengeSpent
            case .counterUsed: .counterUsed
            case .revoked: .revoked
            case .incarnationChanged: .incarnationChanged
            case .replayed: .replayed
            }
        }
    }

    /// Bits of the ring: how far below the highest counter a device's past is remembered, and so
    /// the widest window.
    static let windowSizeMax = 1024

    /// What one call hands over: KEYS, then ARGV, in their order.
    struct Call {
        let incarnationRecord: [UInt8]
        let revocationMark: [UInt8]
        let deviceState: [UInt8]
        let spentMark: [UInt8]
        let incarnation: Incarnation
        let counter: UInt32
        let windowSize: Int
        let floor: UInt32
        let spentMilliseconds: Int
        let stateMilliseconds: Int

        /// Calls the script that the server knows under `digest`.
        func write(digest: String, to command: inout RedisCommand) {
            command.clear()
            command.append("EVALSHA")
            command.append(digest)
            command.append(4)
            command.append(incarnationRecord)
            command.append(revocationMark)
            command.append(deviceState)
            command.append(spentMark)
            command.append(IncarnationScript.text(incarnation))
            command.append(Int(counter))
            command.append(windowSize)
            command.append(Int(floor))
            command.append(spentMilliseconds)
            command.append(stateMilliseconds)
        }
    }

    /// KEYS: 1 incarnation record, 2 revocation mark, 3 device state, 4 mark of the spent
    /// challenge, which holds the counter that it was spent with.
    /// ARGV: 1 incarnation of the challenge, 2 counter, 3 window size, 4 floor, 5 and 6 how long
    /// the spent mark and the device state live, in milliseconds.
    ///
    /// The device state is the highest counter (four bytes, big-endian) and a ring of 1024 bits in
    /// which bit `n % 1024` says whether counter `n` was accepted, for the 1024 counters that end
    /// with the highest (RFC 4303 section 3.4.3). Every accepted counter sets its bit, whatever the
    /// policy of its route, so that `strict` and `window(N)` may be mixed on one device. `strict`
    /// is a window of one: only the highest counter itself lies in it, and its bit is set.
    ///
    /// A device without state begins at the floor with all bits set: what lies below was used.
    static let source = """
        local record, revoked, state, spent = unpack(redis.call('MGET', unpack(KEYS)), 1, 4)
        if revoked then return \(Code.revoked.rawValue) end
        if not record or string.sub(record, 1, 16) ~= ARGV[1] then
          return \(Code.incarnationChanged.rawValue)
        end
        local history = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or ''
        if string.sub(record, -1 - #history) ~= ' ' .. history then
          return \(Code.incarnationChanged.rawValue)
        end
        if spent then
          if spent == ARGV[2] then return \(Code.replayed.rawValue) end
          return \(Code.challengeSpent.rawValue)
        end

        local counter, floor = tonumber(ARGV[2]), tonumber(ARGV[4])
        if counter <= floor then return \(Code.counterUsed.rawValue) end
        local highest, ring = floor, nil
        if state then
          if #state ~= 132 then return redis.error_reply('DAMAGED state of a device') end
          local kept = struct.unpack('>I4', state)
          if kept >= floor then highest, ring = kept, string.sub(state, 5) end
        end
        if not ring then ring = string.rep(string.char(255), 128) end

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
        elseif highest - counter >= math.min(tonumber(ARGV[3]), 1024)
            or bit.band(string.byte(ring, place + 1), mask) ~= 0 then
          return \(Code.counterUsed.rawValue)
        end
        ring = string.sub(ring, 1, place)
            .. string.char(bit.bor(string.byte(ring, place + 1), mask))
            .. string.sub(ring, place + 2)

        -- A replica, a full memory or a failing disk refuse the first write, never a later one.
        local written = redis.pcall('SET', KEYS[4], ARGV[2], 'PX', ARGV[5])
        if written.err then return written end
        redis.call('SET', KEYS[3], struct.pack('>I4', highest) .. ring, 'PX', ARGV[6])
        return \(Code.accepted.rawValue)
        """
}
