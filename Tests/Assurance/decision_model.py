"""What the gateway decides about a request, said once more in plain Python.

Written beside docs/request-path.md, which has the words for it. Modelled are keys and their
revocation, challenges, counters in a window, phones that do not count, floors that outlive the
process, the incarnation of the counter store, session tokens, observing routes, rollouts, and
stores that do not answer: with one gateway that has its counters inside, or with several that
share a Redis (decision_stores.py).

    python3 decision_model.py PATH...   # transcripts of `DecisionHistory`, or folders of them

Prints each decision of the gateway that the model does not share, and exits with 1 if there is one.
"""

import json
import os
import sys

from decision_stores import Challenge, Data, Embedded, Refused, Server, Shared, Use, too_low

WORD = (1 << 64) - 1
# For how long a gateway remembers that the registry does not know a key.
UNKNOWN_LIFE = 1_000
# After a loss of the counter store, when records are looked up again, besides at once.
LOOKS_AFTER_LOSS = 3_000, 20_000
# Seconds: of a session token, and how far the clocks of gateways may be apart.
TOKEN_LIFE, SKEW = 300, 5


class Route:
    """What a route demands."""

    def __init__(self, window=1, durable=False, challenge=True, observe=False, rollout=False,
                 lenient=False, assertion=True, token=False, tokens_only=False):
        self.window = window
        self.durable = durable
        self.challenge = challenge
        self.observe = observe
        self.rollout = rollout
        self.lenient = lenient
        self.assertion = assertion
        self.token = token
        # A token is good also while the registry cannot tell whether its key was revoked.
        self.tokens_only = tokens_only


# What issues session tokens has to be proved like a request of a route.
EXCHANGE = "assert/token"
ROUTES = {
    "strict": Route(),
    "window": Route(window=4),
    "durable": Route(durable=True),
    "unchallenged": Route(durable=True, challenge=False),
    "observed": Route(observe=True, token=True),
    "rollout": Route(rollout=True),
    "lenient": Route(lenient=True),
    "session": Route(window=4, token=True),
    "tokens": Route(assertion=False, token=True, tokens_only=True),
    EXCHANGE: Route(window=64),
}
TOKEN_ROUTES = {name for name, route in ROUTES.items() if route.token}


class Token:
    """A session token. Times are in seconds, by the time of day."""

    def __init__(self, key, routes, issued_at, bound):
        self.key = key
        self.routes = routes
        self.issued_at = issued_at
        self.ends_at = issued_at + TOKEN_LIFE
        # The value of the header that it is bound to.
        self.bound = bound


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


class Gateway:
    """A process, and what outlives it."""

    def __init__(self, model):
        self.model = model
        self.floors = {}
        # The floors in the records that it has looked up.
        self.records = {}
        # When all of them are looked up again.
        self.looks = []
        # Until when it remembers that a key is unknown.
        self.unknown = {}
        if model.server is None:
            self.store = Embedded(model.retention)
        else:
            self.store = Shared(model.server, self.settle_all, model.now)

    def forget_key(self, key):
        self.records.pop(key, None)
        self.unknown.pop(key, None)

    def settle_all(self):
        """The counter store may have lost something: nothing that was accepted comes again. Every
        record is looked up again, and later once more: others tell the registry what they know."""
        for floor in self.floors.values():
            floor.settled = floor.highest
        self.records = {}
        self.looks = [self.model.now + wait for wait in LOOKS_AFTER_LOSS]

    def floor(self, key, record_floor):
        """Up to where counters are refused: on every route, and on those without a window."""
        settled = strict = record_floor
        if key in self.floors:
            floor = self.floors[key]
            floor.settle(self.model.now, self.model.floor_life)
            settled = max(settled, floor.settled)
            strict = max(settled, floor.unheard)
        return settled, strict

    def note(self, key, counter):
        floor = self.floors.setdefault(key, Floor(self.model.now))
        floor.note(counter, self.model.now, self.model.floor_life)

    def raise_floors(self, registry):
        """The registry, and every record that was looked up, learn of what has settled."""
        if self.looks and self.looks[0] <= self.model.now:
            self.looks = [look for look in self.looks if look > self.model.now]
            self.records = {}
        for key, floor in list(self.floors.items()):
            floor.settle(self.model.now, self.model.floor_life)
            if floor.settled <= floor.raised or registry.is_away:
                continue
            if key in registry.keys:
                registry.keys[key].floor = max(registry.keys[key].floor, floor.settled)
            if key in self.records:
                self.records[key] = max(self.records[key], floor.settled)
            floor.raised = floor.settled
            if floor.highest <= floor.raised:
                del self.floors[key]

    def restart(self):
        """What was accepted is in a file beside the registry, where there is one. It is settled at
        once, unless the counters know by themselves what may still come late."""
        self.records = {}
        self.looks = []
        self.unknown = {}
        before, self.floors = self.floors, {}
        for key, old in before.items() if self.model.keeps_floors else ():
            floor = self.floors[key] = Floor(self.model.now)
            floor.note(old.highest, self.model.now, self.model.floor_life)
            if not self.store.holds(key):
                floor.settled = old.highest


class Registry:
    """The keys of all gateways."""

    def __init__(self, count):
        self.keys = {key: Key() for key in range(count)}
        self.is_away = False


class Model:
    """Gateways, their stores and their registry."""

    def __init__(self, setup):
        self.now = setup["now"]
        self.wall_ahead = setup["wall"] - setup["now"]
        self.challenge_life = setup["challenge_life"]
        self.floor_life = setup["floor_life"]
        self.retention = setup["retention"]
        self.keeps_floors = setup["keeps_floors"]
        self.binds_tokens = setup["bound"]
        self.rollout_percent = setup["rollout"]
        self.cohorts = [cohort(bytes.fromhex(key)) for key in setup["keys"]]
        self.registry = Registry(setup["enrolled"])
        self.server = Server(self.wall_ahead) if setup["counters"] == "redis" else None
        self.gateways = [Gateway(self) for _ in range(setup["gateways"])]
        self.challenges = {}
        self.tokens = {}

    # What happens around the requests.

    def challenge(self, event):
        """Whether there is one, as for a request."""
        gateway = self.gateways[event["gateway"]]
        is_ours = event["purpose"] == "assert"
        if is_ours and gateway.store.moment(self.now) is None:
            return "refused", "store_unavailable"
        self.mint(gateway, event.get("id"), event["purpose"], None)
        return "answered", "ok"

    def mint(self, gateway, number, purpose, key):
        incarnation, now = gateway.store.moment(self.now) if purpose == "assert" else (None, 0)
        self.challenges[number] = Challenge(
            number, purpose, key, incarnation, now + self.challenge_life)

    def time(self, event):
        self.now += event["milliseconds"]

    def wall(self, event):
        self.wall_ahead += event["milliseconds"]

    def turn(self, event):
        self.gateways[event["gateway"]].store.turn(event["connected"], self.now)

    def enrol(self, event):
        self.registry.keys[event["key"]] = Key()
        self.changed(event["key"])

    def revoke(self, event):
        self.registry.keys[event["key"]].is_revoked = True
        self.changed(event["key"])

    def allow(self, event):
        self.registry.keys[event["key"]].is_revoked = False
        self.changed(event["key"])

    def changed(self, key):
        """Every gateway hears of it."""
        for gateway in self.gateways:
            gateway.forget_key(key)

    def registry_turned(self, event):
        self.registry.is_away = event["away"]

    def forget_records(self, _):
        for gateway in self.gateways:
            gateway.records = {}
            gateway.unknown = {}

    def raise_floors(self, event):
        self.gateways[event["gateway"]].raise_floors(self.registry)

    def stop(self, event):
        gateway = self.gateways[event["gateway"]]
        gateway.store.stop(self.now)
        gateway.restart()

    def kill(self, event):
        gateway = self.gateways[event["gateway"]]
        gateway.store.kill(self.now)
        gateway.restart()

    # What happens to Redis.

    def redis_flush(self, _):
        self.server.data = Data()

    def redis_dump(self, _):
        self.server.dumps.append(self.server.data.copy())

    def redis_restart(self, event):
        """With an older dump, or with nothing."""
        data = self.server.dumps[event["dump"]].copy() if "dump" in event else Data()
        self.server.restart(data, event["loaded"])
        for gateway in self.gateways:
            gateway.store.is_connected = False

    def redis_reload(self, event):
        """The same process loads an older dump."""
        self.server.data = self.server.dumps[event["dump"]].copy()
        self.server.loaded = event["loaded"]

    def redis_history(self, _):
        """As a promotion does."""
        self.server.history += 1

    def redis_evict(self, event):
        self.server.forget_all(event["evicted"])

    def redis_reset(self, _):
        """After an eviction nothing is counted any more."""
        self.server.forget_all(0)
        self.server.resets += 1

    def redis_clock(self, event):
        self.server.ahead += event["milliseconds"]

    def redis_damage(self, event):
        self.server.data.damaged.add(event["key"])

    def redis_mark(self, event):
        """A revocation that gateways have not heard of otherwise."""
        revoked = self.server.data.revoked
        (revoked.add if event["marked"] else revoked.discard)(event["key"])

    def redis_forget_scripts(self, _):
        """Nobody notices."""

    def redis_away(self, event):
        if event["away"]:
            for gateway in self.gateways:
                gateway.store.is_connected = False

    # A request.

    def request(self, event):
        """The decision, its reason and detail, and the key that the next challenge is for."""
        route = ROUTES[event["route"]]
        gateway = self.gateways[event["gateway"]]
        try:
            key = self.judge(gateway, route, event)
            # There is no challenge before its store was reached.
            return "verified", "ok", None, None if gateway.store.moment(self.now) is None else key
        except Refused as refused:
            told = (refused.reason, refused.detail)
            if route.observe or self.is_outside_rollout(route, event.get("key")):
                return "observed", *told, None
            if route.lenient:
                is_unjudged = refused.reason == "store_unavailable"
                return "unjudged" if is_unjudged else "tolerated", *told, None
            return "refused", *told, None

    def is_outside_rollout(self, route, key):
        """The rollout has not reached the hundredth of keys that this one is in."""
        return route.rollout and self.cohorts[key] >= self.rollout_percent

    def judge(self, gateway, route, event):
        """The key whose request is accepted; nothing is changed otherwise."""
        if event["route"] == EXCHANGE and self.binds_tokens and "bound" not in event:
            raise Refused("bad_request", "bound_header")
        if route.assertion and "key" in event:
            self.judge_assertion(gateway, route, event)
            return event["key"]
        if route.token and "token" in event:
            return self.judge_token(gateway, route, event)
        if route.assertion:
            raise Refused("assertion_required")
        raise Refused("token_invalid", "token_missing")

    # A session token.

    def judge_token(self, gateway, route, event):
        if "token_fault" in event:
            is_foreign = event["token_fault"] == "foreign"
            raise Refused("token_invalid", "token_not_ours" if is_foreign else "token_signature")
        token = self.tokens[event["token"]]
        now = (self.now + self.wall_ahead) // 1000
        if now >= token.ends_at:
            raise Refused("token_invalid", "token_expired")
        if token.issued_at > now + SKEW:
            raise Refused("token_invalid", "token_not_yet_valid")
        if event["route"] not in token.routes:
            raise Refused("token_invalid", "token_audience")
        if self.binds_tokens and event.get("bound") != token.bound:
            raise Refused("token_invalid", "token_binding")
        try:
            self.find_key(gateway, token.key)
        except Refused as refused:
            if refused.reason != "store_unavailable" or not route.tokens_only:
                raise
        return token.key

    def issue(self, event):
        """The token that an accepted assertion was exchanged for."""
        bound = event.get("bound") if self.binds_tokens else None
        self.tokens[event["issued"]] = Token(
            event["key"], set(event.get("audience", TOKEN_ROUTES)),
            (self.now + self.wall_ahead) // 1000, bound)

    # An assertion.

    def judge_assertion(self, gateway, route, event):
        key, counter = event["key"], event.get("counter")
        challenge = self.challenge_of(route, event)
        if challenge is not None:
            self.check_challenge(gateway, challenge, key)
        if "mismatch" in event:
            is_body = event["mismatch"] == "body"
            raise Refused("body_mismatch" if is_body else "request_mismatch",
                          event["mismatch"] + "_mismatch")
        record_floor = self.find_key(gateway, key)
        if event.get("fault") == "platform":
            # A signature begins with 0x30, which is a whole number in CBOR.
            raise Refused("assertion_malformed", "the signature is not an ECDSA one in DER"
                          if counter is None else "CBOR: trailing bytes at byte 1")
        if event.get("fault") == "signature":
            raise Refused("assertion_invalid", "signature_invalid")
        if event.get("fault") == "app":
            raise Refused("assertion_invalid", "app_mismatch")
        # A challenge is all that stops the replay of a phone's request.
        if counter is None and not route.challenge:
            raise Refused("challenge_required")
        if event["route"] == EXCHANGE and not TOKEN_ROUTES.issuperset(event.get("audience", ())):
            raise Refused("bad_request", "token_routes")
        if challenge is not None:
            self.spend(gateway, route, event, challenge, record_floor)
        if route.durable and counter is not None:
            self.advance_registry(gateway, key, counter, challenge is not None)

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

    def check_challenge(self, gateway, challenge, key):
        if challenge.purpose != "assert":
            raise Refused("challenge_expired", "purpose")
        if challenge.key is not None and challenge.key != key:
            raise Refused("challenge_expired", "other_key")
        moment = gateway.store.moment(self.now)
        if moment is None:
            raise Refused("store_unavailable", "counters")
        if challenge.incarnation != moment[0]:
            gateway.store.look_for(challenge.incarnation, self.now)
        incarnation, now = gateway.store.moment(self.now)
        if challenge.incarnation != incarnation:
            raise Refused("challenge_expired", "incarnation")
        if challenge.ends_at <= now:
            raise Refused("challenge_expired", "age")

    def find_key(self, gateway, key):
        """The floor in the key's record, which the gateway has or looks up."""
        if key not in gateway.records:
            if gateway.unknown.get(key, 0) > self.now:
                raise Refused("key_unknown")
            if self.registry.is_away:
                raise Refused("store_unavailable", "registry")
            if key not in self.registry.keys:
                gateway.unknown[key] = self.now + UNKNOWN_LIFE
                raise Refused("key_unknown")
            gateway.records[key] = self.registry.keys[key].floor
        if self.registry.keys[key].is_revoked:
            raise Refused("key_revoked")
        return gateway.records[key]

    def spend(self, gateway, route, event, challenge, record_floor):
        """Accepts the counter and spends the challenge, or neither."""
        key, counter = event["key"], event.get("counter")
        settled, strict = gateway.floor(key, record_floor)
        if counter is not None and route.window == 1 and counter <= strict:
            raise too_low()
        use = Use(key, challenge, counter, event.get("mark", counter), route.window, settled)
        try:
            gateway.store.advance(use, self.now, event.get("cut"))
        except Refused as refused:
            # The counter store knew more than the record.
            if refused.reason == "key_revoked":
                gateway.records.pop(key)
            raise
        if counter is not None:
            gateway.note(key, counter)

    def advance_registry(self, gateway, key, counter, was_heard):
        """The registry accepts only counters above the highest it has."""
        if not was_heard and key in gateway.floors and counter <= gateway.floors[key].highest:
            raise too_low()
        if self.registry.is_away:
            raise Refused("store_unavailable", "registry")
        if counter <= self.registry.keys[key].floor:
            raise Refused("assertion_replayed")
        self.registry.keys[key].floor = counter
        if not was_heard:
            gateway.note(key, counter)
            gateway.floors[key].unheard = max(gateway.floors[key].unheard, counter)


def replay(lines):
    """Yields for each request of a transcript what the gateway and the model decided."""
    model = None
    for line in lines:
        event = json.loads(line)
        name = event["event"]
        if name == "setup":
            model = Model(event)
        elif name == "challenge":
            decided = model.challenge(event)
            told = ("answered", "ok") if "id" in event else ("refused", "store_unavailable")
            yield event, told, decided
        elif name == "request":
            decided = model.request(event)
            told = (event["decision"], event["reason"], event.get("detail"),
                    event.get("next_key"))
            yield event, told, decided
            if "next" in event:
                gateway = model.gateways[event["gateway"]]
                model.mint(gateway, event["next"], "assert", decided[3])
            if "issued" in event:
                model.issue(event)
        else:
            getattr(model, "registry_turned" if name == "registry" else name)(event)


def differences(path):
    """The requests that gateway and model decide differently, and how many each outcome has."""
    found, counts = [], {}
    with open(path, encoding="utf-8") as file:
        for number, (event, told, decided) in enumerate(replay(file)):
            if event["event"] == "request":
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
