/// The questions of both scripts to a server about itself, in Lua that they share.
///
/// The gateway that writes the record of an incarnation puts the facts about the server at that
/// time into it. As long as all of them are still true, no counter since then can have been lost:
///
/// | what was lost | what shows it |
/// | --- | --- |
/// | all data, by a restart, whatever was kept | `run_id` |
/// | what a promoted replica had not received | `master_replid` |
/// | keys that were thrown away for memory | `evicted_keys` |
/// | the count of those, by `CONFIG RESETSTAT` | `total_commands_processed`, which goes back too |
/// | what came after a dump, loaded again | `rdb_last_load_keys_loaded`, the last look's time |
/// | marks that ended early, by the server's clock | the time of the last look, beside the clock |
/// | a slot that another master had meanwhile | `cluster_my_epoch` |
enum ServerLife {
    /// The time by which the server's clock may stand behind the highest time that it ever showed.
    /// A mark is kept for much longer than this after its challenge has ended, so that a step of
    /// this size makes no challenge valid whose mark is gone.
    static let stepMilliseconds = 5_000
    /// The time for which an incarnation is trusted without another look. A server whose machine
    /// was reset to an earlier state holds a record as old as that.
    static let lookMilliseconds = 30_000

    /// The positions of the parts of a record: from 1, both ends included.
    ///
    ///     <incarnation> <master_replid> <time> <commands> <run_id> <evicted> <loaded>[ <epoch>]
    ///
    /// Incarnations have 16 digits, histories 40. The time is the highest that the server's clock
    /// showed to any gateway that looked, in milliseconds, 15 digits as the number of commands.
    static let recordByteCountMin = 90

    /// `value`: the value of a name in a text of `INFO`, or nil. `clock`: the server's, in
    /// milliseconds. `identity`: the end of a record and the number of commands; or nil and the
    /// fault.
    static let functions = """
        local function value(text, name)
          local _, last = string.find(text, '\\n' .. name .. ':', 1, true)
          return last and string.match(text, '^[^\\r\\n]+', last + 1)
        end
        local function clock()
          local time = redis.call('TIME')
          return time[1] * 1000 + math.floor(time[2] / 1000)
        end
        local function identity(isCluster)
          local stats = redis.call('INFO', 'stats')
          local process = value(redis.call('INFO', 'server'), 'run_id')
          local evicted = value(stats, 'evicted_keys')
          local commands = tonumber(value(stats, 'total_commands_processed') or '')
          if not process or not evicted or not commands then
            return nil, 'NOIDENTITY INFO names no run_id, evicted_keys or total_commands_processed'
          end
          local memory = redis.call('INFO', 'memory')
          local policy = value(memory, 'maxmemory_policy') or 'noeviction'
          if policy ~= 'noeviction' and value(memory, 'maxmemory') ~= '0' then
            return nil, 'EVICTION maxmemory-policy ' .. policy
                .. ' may throw counters away: set noeviction'
          end
          local persistence = redis.call('INFO', 'persistence')
          local loaded = value(persistence, 'rdb_last_load_keys_loaded') or '-'
          local text = process .. ' ' .. evicted .. ' ' .. loaded
          if isCluster then
            local epoch = value(redis.call('CLUSTER', 'INFO'), 'cluster_my_epoch')
            if not epoch then return nil, 'NOIDENTITY CLUSTER INFO names no cluster_my_epoch' end
            text = text .. ' ' .. epoch
          end
          return text, commands
        end

        """

    /// True if `line` is a script's report, before any write, about a server that cannot be used.
    static func isRefusal(_ line: String) -> Bool {
        line.hasPrefix("NOIDENTITY ") || line.hasPrefix("EVICTION ")
    }
}
