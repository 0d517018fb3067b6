/*
 * An unbound challenge in a Redis Cluster (Sources/RedisKeyStore: CounterCluster+Masters,
 * docs/decisions/0020-incarnations-in-a-cluster.md): its mark lies in one slot and the counter in
 * another, perhaps on two masters, so that one assertion takes two calls. Each master has an
 * incarnation of its own and may lose all that it has, come back with an old dump, or be replaced
 * by a replica that lags, while slots move between masters with what is in them.
 *
 * The model is for one device. As in incarnation.pml, anybody may make any call at any time; each
 * call is one atomic step, and between the two of an assertion everything may happen. A challenge
 * is sealed with any incarnation that was ever handed out. What lies with the key is in
 * incarnation.pml: bound challenges, eviction, clocks.
 *
 * Checked: no assertion is accepted twice, no challenge is accepted twice.
 *
 * Built with one of these, the protocol lacks a part, and spin must find a violation:
 *   -DNO_INCARNATION  the first call does not compare the incarnation of the challenge
 *   -DNO_EPOCH        the record does not name the epoch, which a master raises for a slot it takes
 *   -DNO_SPEND        there is no first call: the counter alone decides
 *   -DGIVE_BACK       a challenge is given back although the counter may have been accepted
 */

#ifndef FAULTS
#define FAULTS 4
#endif
#define MASTERS 2
#define NONE 255

/* What happens, for Tests/KeyStoreTests/ClusterModelTests.swift, with time for calls between
   faults, and more to accept. */
#ifdef TRACE
#define ASSERTIONS 8
#define CHALLENGES 8
#define TELL(...) printf(__VA_ARGS__)
#define IS_CALM (calm == 0)
#define UNREST calm = 12; fresh = 2
#define MAY_ISSUE (fresh > 0)
#define MAY_SIGN (signatures < issued)
byte calm = 12;
byte fresh = 2;         /* challenges that may still be issued before the next fault */
bool isPromoted = false;
#else
#define ASSERTIONS 2
#define CHALLENGES 2
#define TELL(...) skip
#define IS_CALM true
#define UNREST skip
#define MAY_ISSUE true
#define MAY_SIGN true
#endif

/* The slots: of the key, and of both challenges. */
#define KEY 0
#define MARKS 1

typedef Master {
    byte process;       /* run_id and master_replid: who is promoted has others of both */
    byte epoch;
    /* The record of the incarnation; 0 stands for none. */
    byte incarnation;
    byte recordedProcess;
    byte recordedEpoch;
};

typedef Dump {
    byte incarnation;
    byte recordedProcess;
    byte recordedEpoch;
    byte kept[2];
    bool has[2];        /* the slots that the master kept then */
};

Master masters[MASTERS];
Dump dump;
byte dumpedMaster = NONE;
byte owner[2];              /* of each slot */
byte kept[2];               /* bit n: counter n was accepted; challenge n is spent */

byte sealed[CHALLENGES];    /* the incarnation in each challenge */
byte issued = 0;            /* so many challenges */
byte bound[ASSERTIONS];     /* the challenge of each assertion */
byte signatures = 0;            /* so many assertions */
byte underWay[ASSERTIONS];  /* calls whose first half was accepted, and whose second is to come */
bool isGivenBack[CHALLENGES];
byte accepted[ASSERTIONS];
byte answered[CHALLENGES];

byte incarnations = 0;
byte names = 0;
byte epochs = 0;
byte faults = 0;

#ifdef NO_EPOCH
#define EPOCH_MATCHES(m) true
#else
#define EPOCH_MATCHES(m) (masters[m].recordedEpoch == masters[m].epoch)
#endif

#define LIVES(m) (masters[m].incarnation != 0 && \
    masters[m].recordedProcess == masters[m].process && EPOCH_MATCHES(m))

#ifdef NO_INCARNATION
#define IS_SEALED_FOR(m, c) true
#else
#define IS_SEALED_FOR(m, c) (LIVES(m) && masters[m].incarnation == sealed[c])
#endif

/* Any of these, the last ones most often where chance decides. */
inline pick(x, least, most) {
    x = most;
    do
    :: x > least -> x--
    :: break
    od
}

/* IncarnationScript. */
inline look(m) {
    if
    :: LIVES(m) -> skip
    :: else ->
        incarnations++;
        masters[m].incarnation = incarnations;
        masters[m].recordedProcess = masters[m].process;
        masters[m].recordedEpoch = masters[m].epoch
    fi;
    TELL("look %d %d\n", m, masters[m].incarnation)
}

inline accept(a, c) {
    kept[KEY] = kept[KEY] | (1 << a);
    accepted[a]++;
    answered[c]++;
    assert(accepted[a] == 1);
    assert(answered[c] == 1);
    TELL("count %d accepted\n", a)
}

/* CounterScript, `spend`: a challenge's mark has no state beside it, so all is compared. */
inline spend(a) {
    c = bound[a];
    m = owner[MARKS];
    if
    :: !IS_SEALED_FOR(m, c) -> TELL("spend %d incarnation\n", a)
    :: else ->
        if
        :: (kept[MARKS] & (1 << c)) == 0 ->
            kept[MARKS] = kept[MARKS] | (1 << c);
            underWay[a]++;
            TELL("spend %d accepted\n", a)
        :: else -> TELL("spend %d spent\n", a)
        fi
    fi;
    c = 0;
    m = 0
}

/* CounterScript, `count`: under the incarnation that the caller knows of the key's master. */
inline count(a) {
    c = bound[a];
    m = owner[KEY];
    underWay[a]--;
    if
    :: !LIVES(m) -> TELL("count %d incarnation\n", a)
    :: else ->
        if
        :: (kept[KEY] & (1 << a)) != 0 -> TELL("count %d used\n", a)
        :: else ->
            if
            :: accept(a, c)
            /* A rate limit has no token left: the same request may come again. */
            :: isGivenBack[c] = true; TELL("count %d limited\n", a)
#ifdef GIVE_BACK
            :: accept(a, c); isGivenBack[c] = true
#endif
            fi
        fi
    fi;
    c = 0;
    m = 0
}


inline call(a) {
#ifdef NO_SPEND
    underWay[a] = 1;
    count(a)
#else
    if
    :: underWay[a] < 2 -> spend(a)
    :: underWay[a] > 0 -> count(a)
    fi
#endif
}

/* What a master has is gone. */
inline erase(m) {
    masters[m].incarnation = 0;
    if
    :: owner[KEY] == m -> kept[KEY] = 0
    :: else -> skip
    fi;
    if
    :: owner[MARKS] == m -> kept[MARKS] = 0
    :: else -> skip
    fi
}

/* It has what the dump holds. */
inline load(m) {
    masters[m].incarnation = dump.incarnation;
    masters[m].recordedProcess = dump.recordedProcess;
    masters[m].recordedEpoch = dump.recordedEpoch;
    if
    :: owner[KEY] == m -> kept[KEY] = (dump.has[KEY] -> dump.kept[KEY] : 0)
    :: else -> skip
    fi;
    if
    :: owner[MARKS] == m -> kept[MARKS] = (dump.has[MARKS] -> dump.kept[MARKS] : 0)
    :: else -> skip
    fi
}

inline rename(m) {
    names++;
    masters[m].process = names
}

inline raise(m) {
    epochs++;
    masters[m].epoch = epochs
}

/* Killed, and started anew: empty, or with a dump of its own. Or FLUSHALL. */
inline lose(m) {
    if
    :: rename(m); erase(m); TELL("restart %d empty\n", m)
    :: dumpedMaster == m -> rename(m); load(m); TELL("restart %d dump\n", m)
    :: erase(m); TELL("flush %d\n", m)
    fi
}

/* A replica that has heard nothing since the dump takes the master's place. */
inline promote(m) {
    rename(m);
    load(m);
    raise(m);
    TELL("promote %d\n", m)
}

/* `CLUSTER SETSLOT ... NODE` on the importing side: its epoch is the highest from then on, and
   stays as it is where it was before. Another master may have raised its own meanwhile. */
inline move(s) {
    owner[s] = 1 - owner[s];
    m = owner[s];
    if
    :: masters[m].epoch == epochs -> skip
#ifdef TRACE
    :: masters[m].epoch != epochs -> raise(m)
#else
    :: raise(m)
#endif
    fi;
    m = 0;
    TELL("move %d\n", s)
}

active proctype world() {
    byte m = 0, c = 0, a = 0, i = 0;

    d_step {
        masters[0].process = 1;
        masters[1].process = 2;
        names = 2;
        owner[KEY] = 0;
        owner[MARKS] = 1;
        /* The second one's is the highest. */
        masters[0].epoch = 1;
        masters[1].epoch = 2;
        epochs = 2
    }

    do
#ifdef TRACE
    :: calm > 0 -> calm--
#endif
    :: atomic { pick(m, 0, MASTERS - 1); look(m); m = 0 }
    /* A challenge is issued. */
    :: atomic {
        incarnations > 0 && issued < CHALLENGES && MAY_ISSUE ->
#ifdef TRACE
        fresh--;
        if
        :: LIVES(owner[MARKS]) -> i = masters[owner[MARKS]].incarnation
        :: LIVES(owner[MARKS]) -> i = masters[owner[MARKS]].incarnation
        :: LIVES(owner[MARKS]) -> i = masters[owner[MARKS]].incarnation
        :: pick(i, 1, incarnations)
        fi;
#else
        pick(i, 1, incarnations);
#endif
        sealed[issued] = i;
        TELL("seal %d %d\n", issued, i);
        issued++;
        i = 0
    }
    /* The device signs: each counter once, with a challenge that it may have used before. */
    :: atomic {
        issued > 0 && signatures < ASSERTIONS && MAY_SIGN ->
        pick(c, 0, issued - 1);
        bound[signatures] = c;
        TELL("sign %d %d\n", signatures, c);
        signatures++;
        c = 0
    }
    /* Somebody brings an assertion. */
    :: atomic { signatures > 0 -> pick(a, 0, signatures - 1); call(a); a = 0 }
    /* What was sent to give a challenge back arrives. */
    :: atomic {
        pick(c, 0, CHALLENGES - 1);
        if
        :: isGivenBack[c] ->
            isGivenBack[c] = false;
            kept[MARKS] = kept[MARKS] & (255 - (1 << c));
            TELL("forget %d\n", c)
        :: else -> skip
        fi;
        c = 0
    }
    /* Somebody keeps a dump, or a replica hears no more: the last. */
    :: atomic {
        dumpedMaster == NONE && faults < FAULTS ->
        pick(m, 0, MASTERS - 1);
        dumpedMaster = m;
        dump.incarnation = masters[m].incarnation;
        dump.recordedProcess = masters[m].recordedProcess;
        dump.recordedEpoch = masters[m].recordedEpoch;
        dump.has[KEY] = owner[KEY] == m;
        dump.has[MARKS] = owner[MARKS] == m;
        dump.kept[KEY] = (owner[KEY] == m -> kept[KEY] : 0);
        dump.kept[MARKS] = (owner[MARKS] == m -> kept[MARKS] : 0);
        TELL("dump %d\n", m);
        m = 0
    }
    :: atomic {
        faults < FAULTS && IS_CALM ->
        faults++;
        UNREST;
        if
        :: lose(0)
        :: lose(1)
        :: move(KEY)
        :: move(MARKS)
#ifdef TRACE
        :: dumpedMaster != NONE && !isPromoted -> isPromoted = true; promote(dumpedMaster)
#else
        :: dumpedMaster != NONE -> promote(dumpedMaster)
#endif
        fi
    }
    od
}
