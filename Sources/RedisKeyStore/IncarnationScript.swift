import AppAttest
import Crypto
import Redis

/// The script that finds the incarnation of a server, or begins a new one.
///
/// The record names the process (`run_id`) and the replication history (`master_replid`) under
/// which it was written. A restart changes the first, a promotion the second, also where a master
/// was demoted, filled from a replica that lagged behind it, and promoted again without ever
/// stopping. A record of another process or history was copied, restored or replicated from
/// elsewhere, and counters may be missing beside it. The script reads both names itself, so that
/// nothing can happen between looking and replacing.
///
/// The history also changes when a master gets its first replica, or gets one after an hour without
/// any: then clients sign once more than was needed.
///
///     <incarnation, 16 hexadecimal digits> <run_id> <master_replid>[ <configuration epoch>]
///
/// In a cluster each master has a record of its own, with its configuration epoch: a master that
/// takes a slot back from another has a higher one than before, and what the other lost while it
/// had the slot is refused here.
///
/// A server that may evict keys is refused: it would forget a spent challenge together with its
/// counter, and nothing would tell.
enum IncarnationScript {
    static let digitCount = 16

    /// KEYS: 1 incarnation record. ARGV: 1 a new incarnation, 2 `cluster` or nothing. Answers with
    /// the one that is valid.
    static let source = """
        local server = redis.call('INFO', 'server')
        local replication = redis.call('INFO', 'replication')
        local process = string.match(server, 'run_id:(%x+)')
        local history = string.match(replication, 'master_replid:(%x+)') or ''
        if not process then return redis.error_reply('NORUNID INFO names no run_id') end
        if not string.find(replication, 'role:master', 1, true) then
          return redis.error_reply('READONLY this server is not a master')
        end
        local memory = redis.call('INFO', 'memory')
        local policy = string.match(memory, 'maxmemory_policy:(%S+)') or 'noeviction'
        if policy ~= 'noeviction' and string.match(memory, 'maxmemory:(%d+)') ~= '0' then
          return redis.error_reply('EVICTION maxmemory-policy ' .. policy
              .. ' may throw counters away: set noeviction')
        end
        local identity = ' ' .. process .. ' ' .. history
        if ARGV[2] == 'cluster' then
          local cluster = redis.call('CLUSTER', 'INFO')
          identity = identity .. ' ' .. (string.match(cluster, 'cluster_my_epoch:(%d+)') or '')
        end
        local record = redis.call('GET', KEYS[1])
        if record and string.sub(record, 17) == identity then return string.sub(record, 1, 16) end
        redis.call('SET', KEYS[1], ARGV[1] .. identity)
        return ARGV[1]
        """

    static func command(record: [UInt8], isCluster: Bool = false) -> RedisCommand {
        var command = RedisCommand("EVAL", source, "1")
        command.append(record)
        command.append(text(Incarnation(RandomBytes.word())))
        command.append(isCluster ? "cluster" : "")
        return command
    }

    /// Sixteen hexadecimal digits.
    static func text(_ incarnation: Incarnation) -> String {
        let digits = String(incarnation.value, radix: 16)
        return String(repeating: "0", count: digitCount - digits.utf8.count) + digits
    }

    /// Nil where `reply` is anything but an incarnation as ``text(_:)`` writes it.
    static func incarnation(_ reply: RedisReply) -> Incarnation? {
        guard let text = reply.text, text.utf8.count == digitCount,
            let value = UInt64(text, radix: 16)
        else { return nil }
        let incarnation = Incarnation(value)
        return Self.text(incarnation) == text ? incarnation : nil
    }
}
