/*
 * The incarnation protocol of the Redis counter store (Sources/RedisKeyStore: IncarnationScript,
 * CounterScript), against what a deployment of Redis may do to it: loss of all data, an old dump,
 * FLUSHALL, a replica that lags and is promoted, two masters at once, a master that is demoted,
 * filled with older data and promoted again while its connections stay open, keys evicted and the
 * statistics that tell of it reset, a dump loaded into the same process (or a machine put back to a
 * snapshot), and a clock that is set back after marks have ended by it.
 *
 * The model is for one device. It allows more than gateways do, so that nothing depends on how many
 * there are, which server each believes to be the master, or when a command arrives: anyone may
 * call the counter script of any process on which some connection has begun, at any time, with any
 * assertion ever signed; and a challenge may be sealed with any incarnation ever handed out. Each
 * script runs alone in its server, so each is one atomic step.
 *
 * Checked: no assertion is accepted twice, no challenge is accepted twice. With -DSTRICT, for a
 * route on which counters only rise, also: no counter is accepted after a higher one.
 *
 * What the model takes for granted, because looks are so frequent: whoever calls has looked at the
 * server since a dump was made that is loaded into its process (a second), somebody has looked at
 * it since a challenge ended and before its mark goes (a minute), and a call compares what has been
 * evicted (it does so where the device has no state, and there alone a used counter could pass).
 *
 * With -DSILENT a server also forgets without a sign: by eviction, by a dump loaded into the same
 * process, by its clock.
 *
 * Built with one of these, the protocol lacks a part, and spin must find a violation:
 *   -DNO_INCARNATION    the script does not look at the incarnation of the challenge
 *   -DNO_HISTORY        the record names the process alone, not the replication history
 *   -DHISTORY_AT_START  the history is compared when a connection begins, not at every call
 *   -DNO_PROCESS        the record names the history alone, which comes back with a dump
 *   -DNO_STATISTICS     the record does not say what was evicted
 *   -DNO_NOTED          nobody compares the time of the record with that which was seen before
 *   -DNO_CLOCK          nobody compares the time of the record with the server's clock
 *   -DNO_AGE            the server's script does not judge the age of the challenge
 *   -DNO_FLOORS         (STRICT) what was accepted under one incarnation is no floor under the next
 *   -DFLOOR_AT_REPLY    (STRICT) it is only when its reply has come
 */

#ifndef FAULTS
#define FAULTS 5
#endif
#ifndef SERVERS
#define SERVERS 2
#endif
#define ASSERTIONS 2
#define CHALLENGES 2
#define NONE 255

/* What happens, for Tests/Assurance/model_traces.py, with time for calls between faults. */
#ifdef TRACE
#define TELL(...) printf(__VA_ARGS__)
#define IS_CALM (calm == 0)
#define UNREST calm = 8
#define SELECT_INCARNATION(i) if :: i = incarnations :: select(i : 1 .. incarnations) fi
byte calm = 8;
#else
#define TELL(...) skip
#define IS_CALM true
#define UNREST skip
#define SELECT_INCARNATION(i) select(i : 1 .. incarnations)
#endif

/* What a server keeps, a dump holds and a replica is sent. Incarnation 0 stands for no record. */
typedef Data {
    byte incarnation;
    byte process;   /* run_id and master_replid under which the record was written */
    byte history;
    byte statistics;/* what was evicted, and that the count of it began anew */
    bool noted;     /* whether it was looked at since the dump was made */
    bool isLate;    /* whether all challenges had ended then */
    byte used;      /* bit n: counter n was accepted. The widest window, so the weakest policy. */
    byte spent;     /* bit n: challenge n was accepted */
};

typedef Server {
    bool isMaster;
    bool isGreeted; /* some connection to this process has begun */
    byte process;
    byte history;
    byte statistics;
    bool seen;      /* whether those who call have looked since the dump was made */
    Data data;
};

Server servers[SERVERS];
Data dump;

byte sealed[CHALLENGES];    /* the incarnation in each challenge; 0: not issued */
byte bound[ASSERTIONS];     /* of each assertion; NONE: not signed. Its counter is its index. */
byte accepted[ASSERTIONS];
byte answered[CHALLENGES];

#ifdef STRICT
#define INCARNATIONS 12
byte floors[INCARNATIONS];  /* bit n: counter n was accepted before this one was known */
byte known = 0;             /* bit n: the reply that counter n was accepted has come */
#endif

byte dumpedServer = 0;      /* whose dump it is */
bool isLate = false;        /* by the clock: all challenges have ended, and marks may go */
byte incarnations = 0;      /* so many were handed out: 1, 2, 3 ... */
byte names = 0;             /* of processes and histories, likewise */
byte faults = 0;

inline rename(id) {
    names++;
    id = names
}

inline copy(to, from) {
    to.incarnation = from.incarnation;
    to.process = from.process;
    to.history = from.history;
    to.statistics = from.statistics;
    to.noted = from.noted;
    to.isLate = from.isLate;
    to.used = from.used;
    to.spent = from.spent
}

inline erase(kept) {
    kept.incarnation = 0;
    kept.process = 0;
    kept.history = 0;
    kept.statistics = 0;
    kept.noted = 0;
    kept.isLate = false;
    kept.used = 0;
    kept.spent = 0
}

#ifdef NO_HISTORY
#define HISTORY_MATCHES(s) true
#else
#define HISTORY_MATCHES(s) (servers[s].data.history == servers[s].history)
#endif

#ifdef NO_PROCESS
#define PROCESS_MATCHES(s) true
#else
#define PROCESS_MATCHES(s) (servers[s].data.process == servers[s].process)
#endif

#ifdef NO_STATISTICS
#define STATISTICS_MATCH(s) true
#else
#define STATISTICS_MATCH(s) (servers[s].data.statistics == servers[s].statistics)
#endif

#ifdef NO_NOTED
#define IS_AS_SEEN(s) true
#else
#define IS_AS_SEEN(s) (servers[s].data.noted >= servers[s].seen)
#endif

#ifdef NO_CLOCK
#define IS_IN_TIME(s) true
#else
#define IS_IN_TIME(s) (!servers[s].data.isLate || isLate)
#endif

#ifdef NO_AGE
#define IS_YOUNG true
#else
#define IS_YOUNG (!isLate)
#endif

#ifdef HISTORY_AT_START
#define IS_OF_THIS_LIFE(s) true
#else
#define IS_OF_THIS_LIFE(s) HISTORY_MATCHES(s)
#endif

#ifdef NO_INCARNATION
#define IS_SEALED_FOR(s, c) true
#else
#define IS_SEALED_FOR(s, c) \
    (servers[s].data.incarnation == sealed[c] && LIVES(s))
#endif

#define LIVES(s) \
    (IS_OF_THIS_LIFE(s) && STATISTICS_MATCH(s) && IS_AS_SEEN(s) && IS_IN_TIME(s))

#ifdef STRICT
#define RISES(s, a, c) \
    ((servers[s].data.used >> (a)) == 0 && (floors[sealed[c]] >> (a)) == 0)
#else
#define RISES(s, a, c) true
#endif

/* Before an incarnation is used, a gateway takes what it has sent so far for the floor. */
#ifdef STRICT
#ifdef NO_FLOORS
#define NOTE_FLOOR skip
#else
#ifdef FLOOR_AT_REPLY
#define NOTE_FLOOR floors[incarnations] = known
#else
#define NOTE_FLOOR floors[incarnations] = (accepted[0] | (accepted[1] << 1))
#endif
#endif
#else
#define NOTE_FLOOR skip
#endif

/* IncarnationScript: the first step of every connection, repeated on it from time to time. */
inline begin(s) {
    servers[s].isGreeted = true;
    if
    :: servers[s].data.incarnation != 0 && PROCESS_MATCHES(s) && HISTORY_MATCHES(s) &&
        STATISTICS_MATCH(s) && IS_AS_SEEN(s) && IS_IN_TIME(s) -> skip
    :: else ->
        incarnations++;
        servers[s].data.incarnation = incarnations;
        servers[s].data.process = servers[s].process;
        servers[s].data.history = servers[s].history;
        servers[s].data.statistics = servers[s].statistics;
        NOTE_FLOOR
    fi;
    servers[s].data.noted = true;
    servers[s].seen = true;
    servers[s].data.isLate = isLate;
    TELL("look %d\n", servers[s].data.incarnation)
}

/* CounterScript: everything is checked, then everything is written. A replica refuses to write. */
inline advance(s, a) {
    c = bound[a];
    if
    :: IS_SEALED_FOR(s, c) && IS_YOUNG && (servers[s].data.spent & (1 << c)) == 0 &&
        (servers[s].data.used & (1 << a)) == 0 && RISES(s, a, c) ->
        servers[s].data.spent = servers[s].data.spent | (1 << c);
        servers[s].data.used = servers[s].data.used | (1 << a);
        accepted[a]++;
        answered[c]++;
        assert(accepted[a] == 1);
        assert(answered[c] == 1);
#ifdef STRICT
        assert(a == 1 || accepted[1] == 0);
#endif
        TELL("call %d %d accepted\n", a, c)
    :: else ->
        if
        /* Nobody else shall take it for a living one. */
        :: servers[s].data.incarnation == sealed[c] && !LIVES(s) -> servers[s].data.incarnation = 0
        :: else -> skip
        fi;
        TELL("call %d %d refused\n", a, c)
    fi;
    c = 0
}

/* Killed, and started anew: empty, or with a dump, however old. */
inline restart(s) {
    servers[s].isMaster = true;
    servers[s].isGreeted = false;
    rename(servers[s].process);
    rename(servers[s].history);
    servers[s].statistics = 0;
    servers[s].seen = false;
    if
    :: erase(servers[s].data);
        TELL("restart empty\n")
    :: copy(servers[s].data, dump);
        TELL("restart dump\n");
#ifdef NO_PROCESS
        servers[s].history = dump.history
#endif
    fi
}

active proctype world() {
    byte s = 0, t = 0, a = 0, c = 0;

    d_step {
        rename(servers[0].history);
        do
        :: s < SERVERS ->
            servers[s].history = servers[0].history;
            rename(servers[s].process);
            s++
        :: else -> break
        od;
        s = 0;
        servers[0].isMaster = true;
        bound[0] = NONE;
        bound[1] = NONE
    }

    do
#ifdef TRACE
    :: calm > 0 -> calm--
#endif
    :: atomic {
        select(s : 0 .. SERVERS - 1);
        if
        :: servers[s].isMaster ->
            if
            :: begin(s)
            :: servers[s].isGreeted && bound[0] != NONE -> advance(s, 0)
            :: servers[s].isGreeted && bound[1] != NONE -> advance(s, 1)
            fi
        :: else -> skip
        fi;
        s = 0
    }
    /* A challenge is issued. */
    :: atomic {
        incarnations > 0 && sealed[CHALLENGES - 1] == 0 ->
        if
        :: sealed[0] == 0 -> SELECT_INCARNATION(c); sealed[0] = c; TELL("seal 0 %d\n", c)
        :: else -> SELECT_INCARNATION(c); sealed[1] = c; TELL("seal 1 %d\n", c)
        fi;
        c = 0
    }
    /* The device signs: each counter once, with a challenge that it may have used before. In any
       order where counters must rise: somebody may have cloned its key. */
    :: atomic {
        sealed[0] != 0 && (bound[0] == NONE || bound[1] == NONE) ->
        if
        :: bound[0] == NONE -> a = 0
#ifdef STRICT
        :: bound[1] == NONE -> a = 1
#else
        :: bound[0] != NONE -> a = 1
#endif
        fi;
        if
        :: bound[a] = 0
        :: sealed[1] != 0 -> bound[a] = 1
        fi;
        a = 0
    }
    /* Replication: a replica reaches the state of a master, or does not yet. */
    :: atomic {
        select(s : 0 .. SERVERS - 1);
        select(t : 0 .. SERVERS - 1);
        if
        :: s != t && servers[s].isMaster && !servers[t].isMaster ->
            copy(servers[t].data, servers[s].data);
            servers[t].history = servers[s].history
        :: else -> skip
        fi;
        s = 0;
        t = 0
    }
    /* Somebody keeps a dump. */
    :: atomic {
        select(s : 0 .. SERVERS - 1);
        if
        :: servers[s].data.noted || !servers[s].seen ->
            servers[s].data.noted = false;
            servers[s].seen = false;
            copy(dump, servers[s].data);
            dumpedServer = s;
            TELL("dump\n")
        :: else -> skip
        fi;
        s = 0
    }
#ifdef SILENT
    /* Challenges end; their marks go when somebody has looked at the server since. */
    :: atomic { IS_CALM -> isLate = true; UNREST; TELL("late\n") }
    :: atomic {
        isLate ->
        select(s : 0 .. SERVERS - 1);
        if
        :: servers[s].isMaster && servers[s].data.isLate -> servers[s].data.spent = 0; TELL("forget\n")
        :: else -> skip
        fi;
        s = 0
    }
#endif
#ifdef FLOOR_AT_REPLY
    :: known = known | accepted[0]
    :: known = known | (accepted[1] << 1)
#endif
    :: atomic {
        faults < FAULTS && IS_CALM ->
        faults++;
        UNREST;
        select(s : 0 .. SERVERS - 1);
        if
        :: restart(s)
        /* FLUSHALL. */
        :: servers[s].isMaster -> erase(servers[s].data); TELL("flush\n")
#ifdef SILENT
        /* Keys evicted, or lost in another way that is counted, and the count perhaps reset. */
        :: servers[s].isMaster ->
            servers[s].data.used = 0;
            servers[s].data.spent = 0;
            servers[s].statistics++;
            TELL("evict\n")
        /* An older dump loaded into the same process. */
        :: servers[s].isMaster && servers[s].seen && dumpedServer == s ->
            copy(servers[s].data, dump);
            TELL("reload\n")
        /* The clock set back. */
        :: isLate -> isLate = false; TELL("back\n")
#endif
        /* Promoted, whether or not its old master still serves. */
        :: !servers[s].isMaster ->
            servers[s].isMaster = true;
            rename(servers[s].history);
            TELL("promote\n")
        /* Demoted: process and connections stay, the other's data come when they are sent. */
        :: servers[s].isMaster -> servers[s].isMaster = false
        fi;
        s = 0
    }
    od
}
