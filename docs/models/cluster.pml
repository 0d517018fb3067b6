/*
 * An unbound challenge in a Redis Cluster (Sources/RedisKeyStore: CounterCluster+Masters,
 * docs/decisions/0020-incarnations-in-a-cluster.md): its mark lies in one slot and the counter in
 * another, perhaps on two masters, so that one assertion takes two calls. Each master has an
 * incarnation of its own and may lose all that it has, or come back with an old dump, while slots
 * move between masters with what is in them.
 *
 * The model is for one device. As in incarnation.pml, anybody may make any call at any time; each
 * call is one atomic step, and between the two of an assertion everything may happen. A challenge
 * is sealed with any incarnation that was ever handed out. What lies with the key is in
 * incarnation.pml: bound challenges, promotions, eviction.
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
#define ASSERTIONS 2
#define CHALLENGES 2
#define NONE 255

/* The slots: of the key, and of both challenges. */
#define KEY 0
#define MARKS 1

typedef Master {
    byte process;
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

byte sealed[CHALLENGES];    /* the incarnation in each challenge; 0: not issued */
byte bound[ASSERTIONS];     /* the challenge of each assertion; NONE: not signed */
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

/* IncarnationScript. */
inline look(m) {
    if
    :: LIVES(m) -> skip
    :: else ->
        incarnations++;
        masters[m].incarnation = incarnations;
        masters[m].recordedProcess = masters[m].process;
        masters[m].recordedEpoch = masters[m].epoch
    fi
}

inline accept(a, c) {
    kept[KEY] = kept[KEY] | (1 << a);
    accepted[a]++;
    answered[c]++;
    assert(accepted[a] == 1);
    assert(answered[c] == 1)
}

/* CounterScript, `spend`: a challenge's mark has no state beside it, so all is compared. */
inline spend(a) {
    c = bound[a];
    m = owner[MARKS];
    if
    :: IS_SEALED_FOR(m, c) && (kept[MARKS] & (1 << c)) == 0 && underWay[a] < 2 ->
        kept[MARKS] = kept[MARKS] | (1 << c);
        underWay[a]++
    :: else -> skip
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
    :: LIVES(m) && (kept[KEY] & (1 << a)) == 0 ->
        if
        :: accept(a, c)
        /* A rate limit has no token left: the same request may come again. */
        :: isGivenBack[c] = true
#ifdef GIVE_BACK
        :: accept(a, c); isGivenBack[c] = true
#endif
        fi
    :: else -> skip
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
    :: spend(a)
    :: underWay[a] > 0 -> count(a)
    fi
#endif
}

/* Killed, and started anew: empty, or with a dump of its own. */
inline restart(m) {
    names++;
    masters[m].process = names;
    if
    :: masters[m].incarnation = 0;
        if
        :: owner[KEY] == m -> kept[KEY] = 0
        :: else -> skip
        fi;
        if
        :: owner[MARKS] == m -> kept[MARKS] = 0
        :: else -> skip
        fi
    :: dumpedMaster == m ->
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
    fi
}

/* `CLUSTER SETSLOT ... NODE` on the importing side: its epoch is the highest from then on. */
inline move(s) {
    owner[s] = 1 - owner[s];
    epochs++;
    masters[owner[s]].epoch = epochs
}

active proctype world() {
    byte m = 0, c = 0, a = 0, i = 0;

    d_step {
        masters[0].process = 1;
        masters[1].process = 2;
        names = 2;
        owner[KEY] = 0;
        owner[MARKS] = 1;
        bound[0] = NONE;
        bound[1] = NONE
    }

    do
    :: atomic { select(m : 0 .. MASTERS - 1); look(m); m = 0 }
    /* A challenge is issued. */
    :: atomic {
        incarnations > 0 && sealed[CHALLENGES - 1] == 0 ->
        select(i : 1 .. incarnations);
        c = (sealed[0] == 0 -> 0 : 1);
        sealed[c] = i;
        c = 0;
        i = 0
    }
    /* The device signs: each counter once, with a challenge that it may have used before. */
    :: atomic {
        sealed[0] != 0 && bound[1] == NONE ->
        a = (bound[0] == NONE -> 0 : 1);
        if
        :: bound[a] = 0
        :: sealed[1] != 0 -> bound[a] = 1
        fi;
        a = 0
    }
    :: atomic { bound[0] != NONE -> call(0) }
    :: atomic { bound[1] != NONE -> call(1) }
    /* What was sent to give a challenge back arrives. */
    :: atomic { isGivenBack[0] -> isGivenBack[0] = false; kept[MARKS] = kept[MARKS] & 2 }
    :: atomic { isGivenBack[1] -> isGivenBack[1] = false; kept[MARKS] = kept[MARKS] & 1 }
    /* Somebody keeps a dump, which is the last. */
    :: atomic {
        dumpedMaster == NONE && faults < FAULTS ->
        select(m : 0 .. MASTERS - 1);
        dumpedMaster = m;
        dump.incarnation = masters[m].incarnation;
        dump.recordedProcess = masters[m].recordedProcess;
        dump.recordedEpoch = masters[m].recordedEpoch;
        dump.has[KEY] = owner[KEY] == m;
        dump.has[MARKS] = owner[MARKS] == m;
        dump.kept[KEY] = (owner[KEY] == m -> kept[KEY] : 0);
        dump.kept[MARKS] = (owner[MARKS] == m -> kept[MARKS] : 0);
        m = 0
    }
    :: atomic {
        faults < FAULTS ->
        faults++;
        if
        :: restart(0)
        :: restart(1)
        :: move(KEY)
        :: move(MARKS)
        fi
    }
    od
}
