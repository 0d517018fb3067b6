"""The counter stores of the decision model: inside the gateway, and in Redis.

docs/request-path.md has the words for what they decide, docs/decisions/0034 and 0035 those for what
ends an incarnation. Times are in milliseconds.
"""


class Refused(Exception):
    """Why a request is refused: the code and the detail."""

    def __init__(self, reason, detail=None):
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


class Challenge:
    """A challenge that the gateway has sealed."""

    def __init__(self, number, purpose, key, incarnation, ends_at):
        self.number = number
        self.purpose = purpose
        self.key = key
        self.incarnation = incarnation
        # By the clock of the store.
        self.ends_at = ends_at


class Use:
    """What a request asks of a counter store: to accept its counter and spend its challenge, or
    neither."""

    def __init__(self, key, challenge, counter, mark, window, floor):
        self.key = key
        self.challenge = challenge
        # None for the key of a phone, which does not count.
        self.counter = counter
        # What tells requests with one challenge apart: the counter, if there is one.
        self.mark = mark
        self.window = window
        # Up to where counters are refused.
        self.floor = floor


class Counters:
    """What a counter store knows of a key.

    Counters up to `floor` count as used, and so do those of `accepted`.
    """

    def __init__(self, floor):
        self.highest = floor
        self.floor = floor
        self.accepted = set()
        self.kept_until = 0

    def accept(self, counter, until):
        self.highest = max(self.highest, counter)
        self.accepted.add(counter)
        self.kept_until = until

    def copy(self):
        copied = Counters(self.floor)
        copied.highest = self.highest
        copied.accepted = set(self.accepted)
        copied.kept_until = self.kept_until
        return copied


# How far below the highest counter it is known which were used.
RING = 1_024


def too_low():
    return Refused("assertion_replayed", "counter_too_low")


def check_unspent(spent_with, mark):
    """`spent_with`: the mark that the challenge was spent with, or None."""
    if spent_with is not None:
        if spent_with == mark:
            raise Refused("assertion_replayed")
        raise Refused("challenge_expired", "spent")


class Embedded:
    """The counters of a gateway's own, lost with the process unless it stops cleanly.

    An idle key is forgotten, which nobody sees before a clean stop: its floor has settled by then.
    """

    def __init__(self, retention):
        self.retention = retention
        self.incarnation = 0
        self.counters = {}
        # Challenges that a key has spent, with the mark that it spent each with.
        self.spent = {}

    def moment(self, now):
        return self.incarnation, now

    def look_for(self, incarnation, now):
        """There is nobody to ask."""

    def holds(self, key):
        return key in self.counters

    def stop(self, now):
        """A clean stop: the counters go on, and so do their challenges."""
        self.counters = {key: known for key, known in self.counters.items()
                         if now < known.kept_until}
        for known in self.counters.values():
            known.kept_until = now + self.retention

    def kill(self, _):
        """Any other end: another incarnation, which no challenge from before belongs to."""
        self.incarnation += 1
        self.counters = {}

    def advance(self, use, now, _):
        """Accepts the counter and spends the challenge, or neither."""
        check_unspent(self.spent.get((use.key, use.challenge.number)), use.mark)
        if use.counter is not None:
            self.count(use, now)
        self.spent[use.key, use.challenge.number] = use.mark

    def count(self, use, now):
        known, counter = self.counters.get(use.key), use.counter
        if counter <= use.floor:
            raise too_low()
        if known is not None:
            if counter <= known.floor:
                raise too_low()
            if counter <= known.highest:
                if known.highest - counter >= RING:
                    raise too_low()
                if counter in known.accepted:
                    raise Refused("assertion_replayed", "counter_conflict")
                if known.highest - counter >= use.window:
                    raise too_low()
        known = self.counters.setdefault(use.key, Counters(use.floor))
        known.floor = max(known.floor, use.floor)
        known.accept(counter, now + self.retention)


# How far the server's clock may go back unnoticed, and for how long nobody need look at it.
STEP, LOOK = 5_000, 30_000
# For how long a challenge's mark outlives it, and a key's counters their last use.
GRACE, KEPT = 60_000, 30 * 24 * 3_600_000
# How often a gateway looks at the server, and how long its calls rely on what one has found.
CHECK_INTERVAL, LOOK_INTERVAL = 1_000, 50


class Record:
    """The record of an incarnation: what was true of the server when somebody looked."""

    def __init__(self, incarnation, noted, server):
        self.incarnation = incarnation
        # The highest time that the server's clock has shown to anybody.
        self.noted = noted
        self.history = server.history
        self.resets = server.resets
        self.identity = server.identity()


class Data:
    """What the server keeps, and a dump holds."""

    def __init__(self):
        self.record = None
        self.devices = {}
        self.damaged = set()
        self.spent = {}
        self.revoked = set()

    def copy(self):
        copied = Data()
        copied.record = self.record
        copied.devices = {key: known.copy() for key, known in self.devices.items()}
        copied.damaged = set(self.damaged)
        copied.spent = dict(self.spent)
        copied.revoked = set(self.revoked)
        return copied


class Server:
    """A Redis server, which all gateways share."""

    def __init__(self, ahead):
        # Of the gateways' monotonic clock.
        self.ahead = ahead
        self.process = 0
        self.history = 0
        self.evicted = 0
        # How often the count of commands began anew in this process.
        self.resets = 0
        self.loaded = 0
        self.incarnations = 0
        self.data = Data()
        self.dumps = []

    def clock(self, now):
        return now + self.ahead

    def identity(self):
        return self.process, self.evicted, self.loaded

    def forget_all(self, evicted):
        """All that has an end goes; the record of the incarnation has none."""
        self.evicted = evicted
        self.data.devices = {}
        self.data.damaged = set()
        self.data.spent = {}

    def restart(self, data, loaded):
        self.process += 1
        self.history += 1
        self.evicted = self.resets = 0
        self.loaded = loaded
        self.data = data

    def lives(self, clock):
        """Whether the record is of the server's present history, and in time."""
        record = self.data.record
        return (record.history == self.history and clock >= record.noted - STEP
                and clock <= record.noted + LOOK)

    def is_whole(self):
        """Whether nothing was thrown away, loaded or reset since somebody looked."""
        record = self.data.record
        return record.identity == self.identity() and record.resets == self.resets


class Look:
    """What a gateway has found at the server, and when."""

    def __init__(self, record, history, clock, now):
        self.incarnation = record.incarnation
        self.noted = record.noted
        self.history = history
        self.clock = clock
        self.at = now


class Shared:
    """The counters in Redis, as one gateway sees them. `on_loss`: it may have lost some."""

    def __init__(self, server, on_loss, now):
        self.server = server
        self.on_loss = on_loss
        self.begin(now)

    def begin(self, now):
        """A process begins."""
        self.look = None
        self.is_connected = False
        self.check_due = now + CHECK_INTERVAL
        self.look_due = 0
        # The incarnations that are known not to be the server's.
        self.ended = set()

    stop = kill = begin

    def moment(self, now):
        """The incarnation that challenges are sealed and judged by, and the server's time as it
        goes on here; None before the server was reached."""
        if self.look is None:
            return None
        return self.look.incarnation, self.look.clock + now - self.look.at

    def holds(self, _):
        """Redis may have lost its memory together with the gateway."""
        return False

    def turn(self, is_connected, now):
        """What a gateway does without a request. Whether it is connected it says itself."""
        if now >= self.check_due:
            self.check_due += CHECK_INTERVAL * ((now - self.check_due) // CHECK_INTERVAL + 1)
            if self.is_connected:
                self.look_at_server(now)
        if is_connected and not self.is_connected:
            self.look_at_server(now)
            self.look_due = now
        self.is_connected = is_connected

    def look_at_server(self, now):
        """Finds the incarnation, or begins a new one."""
        server = self.server
        clock = server.clock(now)
        record = server.data.record
        if (record is not None and server.lives(clock) and server.is_whole()
                and self.is_as_seen(record, clock, now)):
            found = Record(record.incarnation, max(record.noted, clock), server)
        else:
            server.incarnations += 1
            found = Record(server.incarnations, clock, server)
        server.data.record = found
        is_loss = self.look is not None and self.look.incarnation != found.incarnation
        if is_loss:
            self.ended.add(self.look.incarnation)
        self.ended.discard(found.incarnation)
        self.look = Look(found, server.history, clock, now)
        if is_loss:
            self.on_loss()

    def look_for(self, incarnation, now):
        """Asks the server before a challenge is refused whose incarnation is not known."""
        if self.is_connected and incarnation not in self.ended:
            self.look_at_server(now)
            if self.look.incarnation != incarnation:
                self.ended.add(incarnation)

    def is_as_seen(self, record, clock, now):
        """A record that is older than what was seen came back from somewhere."""
        seen = self.look
        if seen is None or seen.history != self.server.history:
            return True
        return record.noted >= seen.noted and clock >= seen.clock + now - seen.at - STEP

    def advance(self, use, now, cut):
        """Accepts the counter and spends the challenge, or neither. `cut`: where the connection
        ends, "command" before the server has it, "answer" after it has run."""
        if not self.is_connected:
            raise Refused("store_unavailable", "counters")
        is_look_due = now >= self.look_due
        if is_look_due:
            self.look_due = now + LOOK_INTERVAL
        if cut != "command":
            try:
                self.run(use, now, is_look_due)
            except Refused as refused:
                if not cut:
                    if refused.detail == "incarnation":
                        self.look_at_server(now)
                    if refused.reason == "key_revoked" and is_look_due:
                        self.look_due = now
                    raise
        if cut:
            self.is_connected = False
            raise Refused("store_unavailable", "counters_unknown")

    def run(self, use, now, is_look_due):
        """The script of one call, in the server."""
        server, data = self.server, self.server.data
        clock = server.clock(now)
        if use.key in data.revoked:
            raise Refused("key_revoked")
        known = data.devices.get(use.key)
        if known is not None and clock > known.kept_until:
            known = None
            data.damaged.discard(use.key)
        record = data.record
        if record is None or record.incarnation != use.challenge.incarnation:
            raise Refused("challenge_expired", "incarnation")
        lives = server.lives(clock) and record.noted >= self.look.noted
        # Of a phone there are only marks of challenges, which may have been thrown away.
        if lives and (is_look_due or known is None):
            lives = server.is_whole()
        if not lives:
            data.record = None
            raise Refused("challenge_expired", "incarnation")
        spent_with, until = data.spent.get((use.key, use.challenge.number), (None, 0))
        check_unspent(spent_with if clock <= until else None, use.mark)
        if use.challenge.ends_at <= clock:
            raise Refused("challenge_expired", "age")
        spent_until = use.challenge.ends_at + GRACE
        if use.counter is not None:
            self.count(use, known, max(spent_until, clock + KEPT))
        data.spent[use.key, use.challenge.number] = use.mark, spent_until

    def count(self, use, known, kept_until):
        """What the script does with a counter. `known`: what is there of the key."""
        data, counter = self.server.data, use.counter
        if counter <= use.floor:
            raise too_low()
        if known is not None and use.key in data.damaged:
            # Nobody knows what was used: all of it, up to this one.
            data.damaged.remove(use.key)
            data.devices[use.key] = Counters(counter)
            data.devices[use.key].kept_until = kept_until
            raise Refused("store_unavailable", "counter_state")
        if known is None or known.highest < use.floor:
            known = Counters(use.floor)
        if counter <= known.highest:
            if known.highest - counter >= RING:
                raise too_low()
            if counter <= known.floor or counter in known.accepted:
                raise Refused("assertion_replayed", "counter_conflict")
            if known.highest - counter >= use.window:
                raise too_low()
        known.accept(counter, kept_until)
        data.devices[use.key] = known
