/*
 * The incarnation protocol of the Redis counter store (Sources/RedisKeyStore: IncarnationScript,
 * CounterScript), against what a deployment of Redis may do to it: loss of all data, an old dump,
 * FLUSHALL, a replica that lags and is promoted, two masters at once, a master that is demoted,
 * filled with older data and promoted again while its connections stay open.
 *
 * The model is for one device. It allows more than gateways do, so that nothing depends on how many
 * there are, which server each believes to be the master, or when a command arrives: anyone may
 * call the counter script of any process on which some connection has begun, at any time, with any
 * assertion ever signed; and a challenge may be sealed with any incarnation ever handed out. Each
 * script runs alone in its server, so each is one atomic step.
 *
 * Checked: no assertion is accepted twice, no challenge is accepted twice.
 *
 * Built with one of these, the protocol lacks a part, and spin must find a violation:
 *   -DNO_INCARNATION    the script does not look at the incarnation of the challenge
 *   -DNO_HISTORY        the record names the process alone, not the replication history
 *   -DHISTORY_AT_START  the history is compared when a connection begins, not at every call
 *   -DNO_PROCESS        the record names the history alone, which comes back with a dump
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

/* What a server keeps, a dump holds and a replica is sent. Incarnation 0 stands for no record. */
typedef Data {
    byte incarnation;
    byte process;   /* run_id and master_replid under which the record was written */
    byte history;
    byte used;      /* bit n: counter n was accepted. The widest window, so the weakest policy. */
    byte spent;     /* bit n: challenge n was accepted */
};

typedef Server {
    bool isMaster;
    bool isGreeted; /* some connection to this process has begun */
    byte process;
    byte history;
    Data data;
};

Server servers[SERVERS];
Data dump;

byte sealed[CHALLENGES];    /* the incarnation in each challenge; 0: not issued */
byte bound[ASSERTIONS];     /* the challenge of each assertion, NONE: not signed. Its counter is its index. */
byte accepted[ASSERTIONS];
byte answered[CHALLENGES];

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
    to.used = from.used;
    to.spent = from.spent
}

inline erase(kept) {
    kept.incarnation = 0;
    kept.process = 0;
    kept.history = 0;
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

#ifdef HISTORY_AT_START
#define IS_OF_THIS_LIFE(s) true
#else
#define IS_OF_THIS_LIFE(s) HISTORY_MATCHES(s)
#endif

#ifdef NO_INCARNATION
#define IS_SEALED_FOR(s, c) true
#else
#define IS_SEALED_FOR(s, c) \
    (servers[s].data.incarnation == sealed[c] && IS_OF_THIS_LIFE(s))
#endif

/* IncarnationScript: the first step of every connection, repeated on it from time to time. */
inline begin(s) {
    servers[s].isGreeted = true;
    if
    :: servers[s].data.incarnation != 0 && PROCESS_MATCHES(s) && HISTORY_MATCHES(s) -> skip
    :: else ->
        incarnations++;
        servers[s].data.incarnation = incarnations;
        servers[s].data.process = servers[s].process;
        servers[s].data.history = servers[s].history
    fi
}

/* CounterScript: everything is checked, then everything is written. A replica refuses to write. */
inline advance(s, a) {
    c = bound[a];
    if
    :: IS_SEALED_FOR(s, c) && (servers[s].data.spent & (1 << c)) == 0 &&
        (servers[s].data.used & (1 << a)) == 0 ->
        servers[s].data.spent = servers[s].data.spent | (1 << c);
        servers[s].data.used = servers[s].data.used | (1 << a);
        accepted[a]++;
        answered[c]++;
        assert(accepted[a] == 1);
        assert(answered[c] == 1)
    :: else -> skip
    fi;
    c = 0
}

/* Killed, and started anew: empty, or with a dump, however old. */
inline restart(s) {
    servers[s].isMaster = true;
    servers[s].isGreeted = false;
    rename(servers[s].process);
    rename(servers[s].history);
    if
    :: erase(servers[s].data)
    :: copy(servers[s].data, dump);
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
        :: sealed[0] == 0 -> select(c : 1 .. incarnations); sealed[0] = c
        :: else -> select(c : 1 .. incarnations); sealed[1] = c
        fi;
        c = 0
    }
    /* The device signs: each counter once, with a challenge that it may have used before. */
    :: atomic {
        sealed[0] != 0 && bound[ASSERTIONS - 1] == NONE ->
        if
        :: bound[0] == NONE -> a = 0
        :: else -> a = 1
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
        copy(dump, servers[s].data);
        s = 0
    }
    :: atomic {
        faults < FAULTS ->
        faults++;
        select(s : 0 .. SERVERS - 1);
        if
        :: restart(s)
        /* FLUSHALL. */
        :: servers[s].isMaster -> erase(servers[s].data)
        /* Promoted, whether or not its old master still serves. */
        :: !servers[s].isMaster ->
            servers[s].isMaster = true;
            rename(servers[s].history)
        /* Demoted: process and connections stay, the other's data come when they are sent. */
        :: servers[s].isMaster -> servers[s].isMaster = false
        fi;
        s = 0
    }
    od
}
