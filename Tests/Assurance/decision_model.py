"""What the gateway decides about a request, said once more in plain Python.

Written beside docs/request-path.md, which has the words for it. One gateway with embedded counters
is modelled: keys and their revocation, challenges, counters in a window, floors that outlive the
process, the incarnation of the counter store, observing routes and rollouts.

    python3 decision_model.py PATH...   # transcripts of `DecisionHistory`, or folders of them

Prints each decision of the gateway that the model does not share, and exits with 1 if there is one.
"""

import json
import os
import sys

WORD = (1 << 64) - 1


class Route:
    """What a route demands."""

    def __init__(self, window=1, durable=False, challenge=True, observe=False, rollout=False,
                 lenient=False):
        self.window = window
        self.durable = durable
        self.challenge = challenge
        self.observe = observe
        self.rollout = rollout
        self.lenient = lenient


ROUTES = {
    "strict": Route(),
    "window": Route(window=4),
    "durable": Route(durable=True),
    "unchallenged": Route(durable=True, challenge=False),
    "observed": Route(observe=True),
    "rollout": Route(rollout=True),
    "lenient": Route(lenient=True),
}


class Refused(Exception):
    """Why a request is refused: the code and the detail."""

    def __init__(self, reason, detail=None):
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


class Challenge:
    """A challenge that the gateway has sealed."""

    def __init__(self, purpose, key, incarnation, ends_at):
        self.purpose = purpose
        self.key = key
        self.incarnation = incarnation
        self.ends_at = ends_at


class Counters:
    """What the counter store knows of a key; lost with the process unless it stops cleanly.

    An idle key is forgotten, which nobody sees before a clean stop: its floor has settled by then.
    """

    def __init__(self, floor):
        self.highest = floor
        self.floor = floor
        self.accepted = set()
        self.kept_until = 0


class Floor:
    """The highest counter that a process has seen accepted, on its way to the registry.

    It settles when it is a life of challenges old: then nobody who comes with a lower counter is
    only late.
    """

    def __init__(self, now):
        self.highest = 0
        self.settled = 0
        self.raised = 0
        # Accepted on a route without challenges, of which the counter store has not heard.
        self.unheard = 0
        self.rising = 0
        self.rising_since = now
        self.highest_since = now

    def settle(self, now, life):
        if now - self.highest_since >= life:
            self.settled = self.rising = self.highest
        elif self.rising > self.settled and now - self.rising_since >= life:
            self.settled, self.rising, self.rising_since = self.rising, self.highest, now

    def note(self, counter, now, life):
        self.settle(now, life)
        if counter <= self.highest:
            return
        if self.rising <= self.settled:
            self.rising, self.rising_since = counter, now
        self.highest, self.highest_since = counter, now


class Key:
    """What the registry has of a key."""

    def __init__(self):
        self.is_revoked = False
        self.floor = 0


def mix(value):
    value = value + 0x9E3779B97F4A7C15 & WORD
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & WORD
    value = (value ^ value >> 27) * 0x94D049BB133111EB & WORD
    return value ^ value >> 31


def cohort(digest):
    """Which hundredth of all keys this one is in."""
    mixed = 0
    for start in range(0, 32, 8):
        mixed = mix(mixed ^ int.from_bytes(digest[start:start + 8], "big"))
    return mixed % 100


class Model:
    """A gateway, its store and its registry."""

    def __init__(self, setup):
        self.now = setup["now"]
        self.challenge_life = setup["challenge_life"]
        self.floor_life = setup["floor_life"]
        self.retention = setup["retention"]
        self.rollout_percent = setup["rollout"]
        self.cohorts = [cohort(bytes.fromhex(key)) for key in setup["keys"]]
        self.registry = {key: Key() for key in range(setup["enrolled"])}
        self.incarnation = 0
        self.challenges = {}
        # Challenges that a key has spent, with the counter that it spent each with.
        self.spent = {}
        self.counters = {}
        self.floors = {}
        # The floors in the records that the gateway has looked up.
        self.records = {}

    # What happens around the requests.

    def challenge(self, event, key=None):
        is_ours = event.get("purpose", "assert") == "assert"
        self.challenges[event["id"]] = Challenge(
            event.get("purpose", "assert"), key, self.incarnation if is_ours else None,
            self.now + self.challenge_life)

    def time(self, event):
        self.now += event["milliseconds"]

    def enrol(self, event):
        self.registry[event["key"]] = Key()
        self.records.pop(event["key"], None)

    def revoke(self, event):
        self.registry[event["key"]].is_revoked = True
        self.records.pop(event["key"], None)

    def allow(self, event):
        self.registry[event["key"]].is_revoked = False
        self.records.pop(event["key"], None)

    def forget_records(self, _):
        self.records = {}

    def raise_floors(self, _):
        """The registry, and every record that was looked up, learn of what has settled."""
        for key, floor in list(self.floors.items()):
            floor.settle(self.now, self.floor_life)
            if floor.settled <= floor.raised:
                continue
            if key in self.registry:
                self.registry[key].floor = max(self.registry[key].floor, floor.settled)
            if key in self.records:
                self.records[key] = max(self.records[key], floor.settled)
            floor.raised = floor.settled
            if floor.highest <= floor.raised:
                del self.floors[key]

    def stop(self, _):
        """A clean stop: the counters go on, and so do their challenges."""
        self.counters = {key: known for key, known in self.counters.items()
                         if self.now < known.kept_until}
        for known in self.counters.values():
            known.kept_until = self.now + self.retention
        self.restart(lambda key: key in self.counters)

    def kill(self, _):
        """Any other end: another incarnation, which no challenge from before belongs to."""
        self.incarnation += 1
        self.counters = {}
        self.restart(lambda key: False)

    def restart(self, goes_on):
        """What was accepted is in a file beside the registry. It is settled at once, unless the
        counters know by themselves what may still come late."""
        self.records = {}
        before, self.floors = self.floors, {}
        for key, old in before.items():
            floor = self.floors[key] = Floor(self.now)
            floor.note(old.highest, self.now, self.floor_life)
            if not goes_on(key):
                floor.settled = old.highest

    # A request.

    def request(self, event):
        """The decision, its reason and detail, and the key that the next challenge is for."""
        route = ROUTES[event["route"]]
        try:
            self.judge(route, event)
            return "verified", "ok", None, event["key"]
        except Refused as refused:
            key = event.get("key")
            told = (refused.reason, refused.detail)
            if route.observe or self.is_outside_rollout(route, key):
                return "observed", *told, None
            if route.lenient:
                return "tolerated", *told, None
            return "refused", *told, None

    def is_outside_rollout(self, route, key):
        """The rollout has not reached the hundredth of keys that this one is in."""
        return route.rollout and self.cohorts[key] >= self.rollout_percent

    def judge(self, route, event):
        """Returns if the request is accepted, and changes nothing otherwise."""
        if "key" not in event:
            raise Refused("assertion_required")
        key, counter = event["key"], event["counter"]
        challenge = self.challenge_of(route, event)
        if challenge is not None:
            self.check_challenge(challenge, key)
        if "mismatch" in event:
            is_body = event["mismatch"] == "body"
            raise Refused("body_mismatch" if is_body else "request_mismatch",
                          event["mismatch"] + "_mismatch")
        if key not in self.registry:
            raise Refused("key_unknown")
        record_floor = self.records.setdefault(key, self.registry[key].floor)
        if self.registry[key].is_revoked:
            raise Refused("key_revoked")
        if event.get("fault") == "signature":
            raise Refused("assertion_invalid", "signature_invalid")
        if event.get("fault") == "app":
            raise Refused("assertion_invalid", "app_mismatch")
        if challenge is not None:
            self.spend(route, key, counter, event["challenge"], record_floor)
        if route.durable:
            self.advance_registry(key, counter, challenge is not None)

    def challenge_of(self, route, event):
        """The challenge that the client data holds; None where it needs none and has none."""
        words = event.get("words")
        if words is None:
            return self.challenges[event["challenge"]]
        if words == "none":
            if not route.challenge:
                return None
            raise Refused("challenge_required")
        # Words of the app's own say nothing; what looks like a challenge of ours is to be one.
        if words == "own" and not route.challenge:
            return None
        raise Refused("challenge_expired", "not_ours")

    def check_challenge(self, challenge, key):
        if challenge.purpose != "assert":
            raise Refused("challenge_expired", "purpose")
        if challenge.key is not None and challenge.key != key:
            raise Refused("challenge_expired", "other_key")
        if challenge.incarnation != self.incarnation:
            raise Refused("challenge_expired", "incarnation")
        if challenge.ends_at <= self.now:
            raise Refused("challenge_expired", "age")

    def spend(self, route, key, counter, challenge, record_floor):
        """Accepts the counter and spends the challenge, or neither."""
        settled = strict = record_floor
        if key in self.floors:
            floor = self.floors[key]
            floor.settle(self.now, self.floor_life)
            settled = max(settled, floor.settled)
            strict = max(settled, floor.unheard)
        too_low = Refused("assertion_replayed", "counter_too_low")
        if route.window == 1 and counter <= strict:
            raise too_low
        if (key, challenge) in self.spent:
            if self.spent[key, challenge] == counter:
                raise Refused("assertion_replayed")
            raise Refused("challenge_expired", "spent")
        known = self.counters.get(key)
        if counter <= settled:
            raise too_low
        if known is not None:
            if counter <= known.floor:
                raise too_low
            if counter <= known.highest:
                if counter in known.accepted:
                    raise Refused("assertion_replayed", "counter_conflict")
                if known.highest - counter >= route.window:
                    raise too_low
        known = self.counters.setdefault(key, Counters(settled))
        known.floor = max(known.floor, settled)
        known.highest = max(known.highest, counter)
        known.accepted.add(counter)
        known.kept_until = self.now + self.retention
        self.spent[key, challenge] = counter
        self.note(key, counter)

    def advance_registry(self, key, counter, was_heard):
        """The registry accepts only counters above the highest it has."""
        if not was_heard and key in self.floors and counter <= self.floors[key].highest:
            raise Refused("assertion_replayed", "counter_too_low")
        if counter <= self.registry[key].floor:
            raise Refused("assertion_replayed")
        self.registry[key].floor = counter
        if not was_heard:
            self.note(key, counter)
            self.floors[key].unheard = max(self.floors[key].unheard, counter)

    def note(self, key, counter):
        self.floors.setdefault(key, Floor(self.now)).note(counter, self.now, self.floor_life)


def replay(lines):
    """Yields for each request of a transcript what the gateway and the model decided."""
    model = None
    for line in lines:
        event = json.loads(line)
        name = event["event"]
        if name == "setup":
            model = Model(event)
        elif name == "request":
            decided = model.request(event)
            told = (event["decision"], event["reason"], event.get("detail"),
                    event.get("next_key"))
            yield event, told, decided
            if "next" in event:
                model.challenge({"id": event["next"]}, decided[3])
        else:
            getattr(model, name)(event)


def differences(path):
    """The requests that gateway and model decide differently, and how many each outcome has."""
    found, counts = [], {}
    with open(path, encoding="utf-8") as file:
        for number, (event, told, decided) in enumerate(replay(file)):
            counts[told[:3]] = counts.get(told[:3], 0) + 1
            if told != decided:
                found.append(f"{path}: request {number}: the gateway says {told}, the model "
                             f"{decided}: {json.dumps(event)}")
    return found, counts


def transcripts(paths):
    """The files that `paths` name, each with one JSON event a line, and those of its folders."""
    for path in paths:
        if os.path.isdir(path):
            names = sorted(name for name in os.listdir(path) if name.endswith(".jsonl"))
            yield from (os.path.join(path, name) for name in names)
        else:
            yield path


def main():
    total, count = {}, 0
    for path in transcripts(sys.argv[1:]):
        found, counts = differences(path)
        count += len(found)
        # After the first the two have gone different ways.
        print("".join(line + "\n" for line in found[:1]), end="")
        for outcome, number in counts.items():
            total[outcome] = total.get(outcome, 0) + number
    for (decision, reason, detail), number in sorted(total.items(), key=str):
        print(f"{number:9,} {decision} {reason}{' ' + detail if detail else ''}")
    print(f"{sum(total.values()):,} requests, {count:,} differences")
    return 1 if count or not total else 0


if __name__ == "__main__":
    sys.exit(main())
