"""Verified requests on new connections, three times as many as a gateway can answer, by clients
that give up: how many are answered in time, and how soon all are again. Prints a table and writes
JSON; exits with 1 below the floor."""

import json
import os
import resource
import statistics

import bench
import results
import testbed
from bench import DEVICES, ROUNDS

TITLE = "Overload by clients that give up"
GIVE_UP_MS = 1000
OVERLOAD = 3
OVERLOAD_SECONDS = 4
# Before and after, at half of what the gateway can answer.
CALM_SECONDS = 3
CLIENTS = 32
# Requests of one capacity run: some seconds.
CAPACITY_REQUESTS = int(os.environ.get("CAPACITY_REQUESTS", "6000"))
# The floor: of what it answers when nobody gives up, and of requests in the calm that begins a
# second after the overload.
GOODPUT_MIN = 0.7
SERVED_MIN = 0.99
CONNECTIONS_MAX = 20_000
# A closed connection keeps its port for a minute; each address has 28,000.
SOURCES = 64
TENTHS = 10
# Beside it a gateway that serves each request, however late.
UNBOUNDED = "--unbounded"


class Subject:
    """A gateway, and the clients that visit it."""

    def __init__(self, bed, name, timeouts="idle: 1h"):
        self.bed, self.name = bed, name
        self.upstream, self.port, self.admin = testbed.free_ports(3)
        self.runs = 0
        bed.start_nginx("upstream-" + name, self.upstream, 'location / { return 200 "x"; }',
                        bed.server_cpu)
        bed.configure_gateway(name, self.port, self.admin, self.upstream, timeouts=timeouts)
        for number in range(2 * ROUNDS):
            bed.import_keys(name, f"{name}-{number}", DEVICES * 8)
        bed.start_gateway(name, self.admin, bed.server_cpu)

    def visits(self, phases):
        """What the clients report of those phases. Each run has devices of its own."""
        seed = f"{self.name}-{self.runs}"
        self.runs += 1
        return json.loads(self.bed.output(f"visits-{seed}", [
            self.bed.lab, "visits", "--gateway", f"127.0.0.1:{self.port}", "--path", "/verified",
            "--phases", phases, "--seed", seed, "--devices", str(DEVICES * 8),
            "--app", testbed.APP, "--give-up", str(GIVE_UP_MS),
            "--sources", str(SOURCES)], self.bed.load_cpu))

    def measure(self):
        """One round: the capacity, then calm, overload and calm."""
        found = self.visits(f"x{CLIENTS}/{CAPACITY_REQUESTS}")["phases"][0]
        capacity = sum(found["served"]) / found["seconds"]
        calm = f"{max(1, round(capacity / 2))}/{CALM_SECONDS}"
        report = self.visits(
            f"{calm},{round(capacity * OVERLOAD)}/{OVERLOAD_SECONDS},{calm}")
        _, overload, after = report["phases"]
        return {
            "capacity": capacity,
            "goodput": sum(overload["served"]) / OVERLOAD_SECONDS / capacity,
            "served_after": sum(after["served"][TENTHS:]) / max(1, sum(after["came"][TENTHS:])),
            "back_after": back_after(after),
            "statuses": report["statuses"], "gave_up": report["gave_up"],
            "lost": report["lost"],
        }


def back_after(phase):
    """Seconds from the overload's end until all that came was answered in time; None for never."""
    late = [tenth for tenth, (came, served) in enumerate(zip(phase["came"], phase["served"]))
            if served < came * SERVED_MIN]
    tenth = late[-1] + 1 if late else 0
    return tenth / TENTHS if tenth < len(phase["came"]) else None


def measure(bed):
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    bed.connections_max = min(CONNECTIONS_MAX, limit // 4)
    facts = testbed.announce(bed)
    subjects = {"Sallyport": Subject(bed, "bounded")}
    if UNBOUNDED in bed.options:
        subjects["Sallyport, backlog: off"] = Subject(bed, "unbounded", "idle: 1h, backlog: off")
    return report(facts, subjects)


def report(facts, subjects):
    rounds = {name: [subject.measure() for _ in range(ROUNDS)]
              for name, subject in subjects.items()}

    def median(name, figure):
        values = [each[figure] for each in rounds[name]]
        return None if None in values else statistics.median(values)

    rows = [(name, round(median(name, "capacity")), f"{median(name, 'goodput'):.0%}",
             f"{median(name, 'served_after'):.1%}",
             "never" if median(name, "back_after") is None else median(name, "back_after"))
            for name in rounds]
    bench.table(
        f"{TITLE}: {OVERLOAD} x capacity for {OVERLOAD_SECONDS} s, {ROUNDS} rounds",
        ("gateway", "capacity a second", "goodput of it", "served from 1 s after",
         "all served after s"), *rows)
    settings = {**bench.SETTINGS, "give_up_ms": GIVE_UP_MS}
    results.write(results.path("overload.json"), facts, settings, {"overload": rounds})
    name = next(iter(rounds))
    goodput, after = median(name, "goodput"), median(name, "served_after")
    print(f"\ngoodput at least {GOODPUT_MIN:.0%}: {goodput:.0%}; "
          f"served from 1 s after at least {SERVED_MIN:.0%}: {after:.1%}")
    if goodput >= GOODPUT_MIN and after >= SERVED_MIN:
        return 0
    print("FAIL: measure again when nothing else runs.")
    return 1


if __name__ == "__main__":
    testbed.main(measure, UNBOUNDED)
