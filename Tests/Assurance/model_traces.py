"""Holds the models of docs/proof/models to the stores of the decision model, which histories hold to the
gateway.

    python3 model_traces.py [--count COUNT] [--seed SEED] [--planted]

spin takes random ways through incarnation.pml and embedded.pml. The stores of decision_stores.py do
the same steps, and have to accept just the same calls, under the same incarnations. Exits with 1 at
the first step at which they do not, or if hardly anything was accepted. With --planted the models
then lack a part of the protocol, one after another, and the stores have to disagree with each.
"""

import argparse
import os
import subprocess
import sys

from decision_stores import Challenge, Data, Embedded, Refused, Server, Shared, Use

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/proof/models")
STEPS = 1_500
# Milliseconds. Each step takes one, so that all of them together are no step of the clock.
LIFE, LATE = 10_000, 20_000
# The widest window, and no route's.
WINDOW = 1_024


def use(assertion, challenge):
    """What an assertion with this number asks of a store. Counters begin at 1."""
    counter = int(assertion) + 1
    return Use(0, challenge, counter, counter, WINDOW, 0)


class Redis:
    """The steps of incarnation.pml, with one server: counters are numbers of assertions, from 1."""

    options = ["-DSILENT", "-DSERVERS=1", "-DFAULTS=12"]
    model = "incarnation"
    parts = ["NO_INCARNATION", "NO_HISTORY", "NO_PROCESS", "NO_STATISTICS", "NO_NOTED", "NO_CLOCK",
             "NO_AGE"]

    def __init__(self):
        self.server = Server(0)
        # Who looks has also looked before, as everybody else.
        self.gateway = Shared(self.server, lambda: None, 0)
        self.gateway.is_connected = True
        self.now = 1
        self.dumped = Data()
        self.challenges = {}

    def look(self, incarnation):
        self.gateway.look_at_server(self.now)
        return self.gateway.look.incarnation == int(incarnation)

    def seal(self, number, incarnation):
        self.challenges[number] = Challenge(number, "assert", 0, int(incarnation), LIFE)

    def call(self, assertion, number, outcome):
        try:
            self.gateway.run(use(assertion, self.challenges[number]), self.now, True)
            return outcome == "accepted"
        except Refused:
            return outcome == "refused"

    def dump(self):
        self.dumped = self.server.data.copy()

    def restart(self, source):
        self.server.restart(self.dumped.copy() if source == "dump" else Data(), 0)

    def reload(self):
        self.server.data = self.dumped.copy()

    def flush(self):
        self.server.data = Data()

    def evict(self):
        self.server.forget_all(self.server.evicted + 1)

    def promote(self):
        self.server.history += 1

    def late(self):
        """Challenges have ended."""
        self.server.ahead = LATE

    def back(self):
        self.server.ahead = 0

    def forget(self):
        """Their marks go."""
        self.server.data.spent = {}


class Inside:
    """The steps of embedded.pml in which nobody restores anything."""

    options = ["-DNO_RESTORE", "-DFAULTS=6"]
    model = "embedded"
    parts = ["NO_INCARNATION"]

    def __init__(self):
        self.store = Embedded(LIFE)
        self.now = 0
        self.base = 0
        self.challenges = {}

    def start(self, incarnation):
        return self.store.incarnation + 1 == int(incarnation)

    def stop(self):
        self.store.stop(self.now)

    def kill(self):
        self.store.kill(self.now)

    seal = Redis.seal

    def call(self, assertion, number, outcome):
        challenge = self.challenges[number]
        try:
            # As the gateway compares before it asks.
            if challenge.incarnation != self.store.incarnation + 1:
                raise Refused("challenge_expired", "incarnation")
            self.store.advance(use(assertion, challenge), self.now, None)
            return outcome == "accepted"
        except Refused:
            return outcome == "refused"


def trace(kind, seed, lacking=()):
    """The steps that spin takes, as words."""
    done = subprocess.run(
        ["spin", "-T", f"-n{seed}", f"-u{STEPS}", "-DTRACE", *kind.options,
         *(f"-D{part}" for part in lacking), os.path.join(MODELS, kind.model + ".pml")],
        capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        # The end of its steps, or of what can happen.
        if line.startswith("----") or line == "timeout":
            return
        yield line.split()


def disagreement(kind, seeds, counts, lacking=()):
    """The first step at which a store does not do what its model does, None if there is none."""
    for seed in seeds:
        world = kind()
        for number, (name, *arguments) in enumerate(trace(kind, seed, lacking)):
            world.now += 1
            if getattr(world, name)(*arguments) is False:
                return f"seed {seed}, step {number}: {name} {' '.join(arguments)}"
            if name == "call":
                counts[arguments[-1]] += 1
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--planted", action="store_true")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    for kind in (Redis, Inside):
        counts = {"accepted": 0, "refused": 0}
        found = disagreement(kind, seeds, counts)
        if found:
            sys.exit(f"{kind.model}.pml: the store disagrees: {found}")
        print(f"{kind.model}.pml: the store accepts what it accepts: {counts['accepted']:,} calls "
              f"of {sum(counts.values()):,}, on {options.count:,} ways")
        if counts["accepted"] < options.count // 20:
            sys.exit("hardly anything was accepted: the ways show nothing")
        for part in kind.parts if options.planted else ():
            if not disagreement(kind, seeds, {"accepted": 0, "refused": 0}, [part]):
                sys.exit(f"{kind.model}.pml, {part}: the store notices nothing")
            print(f"{kind.model}.pml, {part}: the store disagrees, as it must")


if __name__ == "__main__":
    main()
