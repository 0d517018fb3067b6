/*
 * Counters in the memory of one gateway (Sources/KeyStore/Embedded, EmbeddedOwnership, FloorTable):
 * what they survive, and what must not bring old ones back. A process ends in good order, is killed
 * or goes down with its machine. The registry is restored from a backup, alone or with the folder
 * that it lies in. Time passes: challenges end, and so do their marks.
 *
 * The model is for one device. Anybody brings any assertion ever signed; a challenge is sealed with
 * any incarnation ever begun.
 *
 * Checked: no assertion is accepted twice, no challenge is accepted twice. With -DSTRICT, where
 * nobody restores anything, also: no counter is accepted after a higher one, whatever the processes
 * between them forgot.
 *
 * Built with one of these, a part is missing, and spin must find a violation:
 *   -DNO_INCARNATION  a process that was killed is followed by another under the same incarnation
 *   -DNO_TOKEN        a stored state need not have the token that lies beside the registry
 *   -DNO_IDENTITY     nor in the very file that it was written to
 *   -DNO_BOOT         nor need the machine have run since
 *   -DNO_FLOORS       (STRICT) nothing of what was accepted outlives a process that is killed
 *   -DNO_REGISTRY     (STRICT) nor is it in the registry, when the file no longer has it
 *   -DUNSETTLED       (STRICT) what the file brings is a floor only for a window
 */

#ifndef FAULTS
#define FAULTS 4
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

#if defined(STRICT) || defined(NO_RESTORE)
#define RESTORES false
#else
#define RESTORES true
#endif

/* The process, while it runs. Counters are 1 and 2, and 0 is none. */
bool isRunning = false;
byte incarnation;
byte used;                  /* bit n: assertion n, whose counter is n + 1 */
byte spent;                 /* bit n: challenge n */
byte settled;               /* the floor on routes of every kind */

/* In the registry. */
byte floor = 0;
byte storedIncarnation = 0; /* the state of the last clean stop; 0: none */
byte storedUsed;
byte storedSpent;
byte storedToken;
byte storedFile;
byte storedBoot;

/* Beside it: the token and the identity of the file that it stands in, and accepted counters. */
byte token = 0;
byte file = 0;
byte highest = 0;

/* A copy of all that. */
byte backupFloor = 0;
byte backupIncarnation = 0;
byte backupUsed;
byte backupSpent;
byte backupToken;
byte backupFile;
byte backupBoot;
byte backupOwner = 0;

byte boot = 0;
byte ended = 0;             /* bit n: challenge n has ended, by the clock of this boot */
byte incarnations = 0;
byte names = 0;
byte faults = 0;

byte sealed[CHALLENGES];    /* the incarnation in each challenge; 0: not issued */
byte bound[ASSERTIONS];     /* the challenge of each assertion; NONE: not signed */
byte accepted[ASSERTIONS];
byte answered[CHALLENGES];

#ifdef NO_TOKEN
#define TOKEN_MATCHES true
#else
#define TOKEN_MATCHES (storedToken == token)
#endif

#ifdef NO_IDENTITY
#define FILE_MATCHES true
#else
#define FILE_MATCHES (storedFile == file)
#endif

#ifdef NO_BOOT
#define CLOCK_GOES_ON true
#else
#define CLOCK_GOES_ON (storedBoot == boot)
#endif

/* Whether the counter was accepted, and its challenge may still come. */
#define USES(a) ((used & (1 << (a))) != 0 && (ended & (1 << bound[a])) == 0)

#ifdef STRICT
#define RISES(a) ((used >> (a)) == 0 && (a) + 1 > settled && (a) + 1 > floor)
#else
#define RISES(a) true
#endif

/* Writes the file beside the registry. Inodes come again, and times have a grain: it may look like
   the last one. */
inline write(next) {
    token = next;
    if
    :: names++; file = names
    :: skip
    fi
}

/* Takes what a clean stop has stored, which is deleted before anything is served. */
inline start() {
    if
    :: storedIncarnation != 0 && TOKEN_MATCHES && FILE_MATCHES && CLOCK_GOES_ON ->
        incarnation = storedIncarnation;
        used = storedUsed;
        spent = storedSpent
    :: else ->
#ifdef NO_INCARNATION
        incarnation = 1;
        incarnations = 1;
#else
        incarnations++;
        incarnation = incarnations;
#endif
        used = 0;
        spent = 0
    fi;
#ifndef UNSETTLED
    /* Unless the counters know by themselves what may still come late. */
    settled = (used == 0 -> highest : 0);
#endif
    storedIncarnation = 0;
    storedUsed = 0;
    storedSpent = 0;
    storedToken = 0;
    storedFile = 0;
    storedBoot = 0;
    write(0);
    isRunning = true;
    TELL("start %d\n", incarnation)
}

/* The process is no more, whatever it knew. */
inline end() {
    isRunning = false;
    incarnation = 0;
    used = 0;
    spent = 0;
    settled = 0
}

inline advance(a) {
    c = bound[a];
    if
    :: sealed[c] == incarnation && (ended & (1 << c)) == 0 && (spent & (1 << c)) == 0 &&
        (used & (1 << a)) == 0 && RISES(a) ->
        spent = spent | (1 << c);
        used = used | (1 << a);
#ifndef NO_FLOORS
        highest = (a + 1 > highest -> a + 1 : highest);
#endif
        accepted[a]++;
        answered[c]++;
        assert(accepted[a] == 1);
        assert(answered[c] == 1);
#ifdef STRICT
        assert(a == 1 || accepted[1] == 0);
#endif
        TELL("call %d %d accepted\n", a, c)
    :: else -> TELL("call %d %d refused\n", a, c)
    fi;
    c = 0
}

active proctype world() {
    byte c = 0, a = 0;

    d_step {
        bound[0] = NONE;
        bound[1] = NONE
    }

    do
#ifdef TRACE
    :: calm > 0 -> calm--
#endif
    :: atomic { !isRunning -> start() }
    /* A challenge is issued, and ends a while later by the same clock. */
    :: atomic {
        incarnations > 0 && sealed[CHALLENGES - 1] == 0 ->
        c = (sealed[0] == 0 -> 0 : 1);
        SELECT_INCARNATION(a);
        sealed[c] = a;
        TELL("seal %d %d\n", c, a);
        a = 0;
        c = 0
    }
    /* The device signs. In any order where counters must rise: its key may be on two. */
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
    :: atomic { isRunning && bound[0] != NONE -> advance(0) }
    :: atomic { isRunning && bound[1] != NONE -> advance(1) }
    /* Time passes. What is over is forgotten: marks first, then a key that was idle, whose floor
       has settled by then. */
#ifndef NO_RESTORE
    :: atomic { ended = (sealed[0] != 0 -> 1 : 0) | (sealed[1] != 0 -> 2 : 0) }
    :: isRunning -> spent = spent & (3 - ended)
    :: atomic {
        isRunning && !(USES(0) || USES(1)) ->
#ifdef STRICT
        settled = highest;
#endif
        used = 0
    }
#endif
    /* The registry learns of a floor, and then the file may forget it. */
    :: atomic {
        isRunning && highest > 0 ->
#ifndef NO_REGISTRY
        floor = (highest > floor -> highest : floor);
#endif
        highest = 0
    }
    /* A copy is made, of a registry in use or not. */
    :: atomic {
        RESTORES && faults < FAULTS &&
        (backupIncarnation != storedIncarnation || backupOwner != token) ->
        backupFloor = floor;
        backupIncarnation = storedIncarnation;
        backupUsed = storedUsed;
        backupSpent = storedSpent;
        backupToken = storedToken;
        backupFile = storedFile;
        backupBoot = storedBoot;
        backupOwner = token
    }
    :: atomic {
        faults < FAULTS && IS_CALM ->
        faults++;
        UNREST;
        if
        /* A clean stop: first the token, then the state that names it. */
        :: isRunning ->
            names++;
            write(names);
            if
            :: storedIncarnation = incarnation;
                storedUsed = used;
                storedSpent = spent;
                storedToken = token;
                storedFile = file;
                storedBoot = boot;
                TELL("stop\n")
            :: TELL("kill\n")
            fi;
            end()
        /* kill -9. */
        :: isRunning -> end(); TELL("kill\n")
#ifndef NO_RESTORE
        /* The machine starts anew, and its clock with it. */
        :: boot++; ended = 0; end()
#endif
        /* The registry comes from the copy, alone or with what lies beside it. */
        :: RESTORES && !isRunning ->
            floor = backupFloor;
            storedIncarnation = backupIncarnation;
            storedUsed = backupUsed;
            storedSpent = backupSpent;
            storedToken = backupToken;
            storedFile = backupFile;
            storedBoot = backupBoot;
            if
            :: skip
            :: token = backupOwner; names++; file = names; highest = 0
            fi
        fi
    }
    od
}
