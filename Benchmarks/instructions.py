"""Counts the instructions of a request in user space, by callgrind: the same on a busy machine.

With `--budget` it also compares them with `instructions.budget`, and fails where one is exceeded.
With `CALLGRIND_FOLDER` it leaves the dumps there, for callgrind_annotate.
"""

import collections
import glob
import os
import shutil
import subprocess

import h2
import testbed
from bench import TOKENED, TOKEN_ROUTE
from device import Device, import_device, token_at

CONNECTIONS = 1
STREAMS = 16
# Few, so that what the first request of each costs does not show.
DEVICES = 4
WARM_UP_SECONDS = 8
SECONDS = 12
ROWS = 6
BUDGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.budget")
# What nobody can leave out of a verified request, and what every one does once.
VERIFICATION = "ECDSA_verify"
# Each exchange of a client ends with this.
EXCHANGE_END = "$s7Gateway8RecorderV12recordAccess"
ALLOCATION = "swift_slowAlloc"


class Profile:
    """What callgrind counted: instructions by library or program, and calls by function."""

    def __init__(self, dump):
        """Lines `ob=(1) path` or `ob=(1)` and `fn=(2) name` or `fn=(2)`, then costs; the line
        after `calls=` has the cost of what was called, again."""
        self.by_object = collections.Counter()
        self.calls = collections.Counter()
        self.inclusive = collections.Counter()
        objects, functions, current, callee, call_count = {}, {}, "?", "?", 0

        def name(table, text):
            number, _, given = text.strip().partition(" ")
            if given:
                table[number] = given
            return table.get(number, number)

        with open(dump, encoding="utf-8", errors="replace") as file:
            for line in file:
                key, _, value = line.partition("=")
                if key in ("ob", "cob"):
                    found = os.path.basename(name(objects, value))
                    current = found if key == "ob" else current
                elif key in ("fn", "cfn"):
                    callee = name(functions, value)
                elif key == "calls":
                    call_count = int(value.split()[0])
                elif line[:1] in "0123456789+-*":
                    cost = int(line.split()[1])
                    if call_count:
                        self.calls[callee] += call_count
                        self.inclusive[callee] += cost
                        call_count = 0
                    else:
                        self.by_object[current] += cost

    @property
    def instructions(self):
        return sum(self.by_object.values())

    def count(self, prefix):
        """Calls of all functions whose names begin like this."""
        return sum(count for name, count in self.calls.items() if name.startswith(prefix))


class Counted:
    """A server under callgrind, which counts during `measure` only.

    Only the worker's thread is counted. Others write what has changed at fixed times, so that
    their share of a request would depend on how many requests callgrind lets through.
    """

    def __init__(self, bed, name, command):
        self.output = bed.path(f"{name}.callgrind")
        self.process = bed.start(name, [
            "valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes",
            f"--callgrind-out-file={self.output}", *command])

    def control(self, *arguments):
        subprocess.run(
            ["callgrind_control", *arguments, str(self.process.pid)], check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def measure(self, name, load):
        """Runs `load` and returns the profile of what the worker did meanwhile."""
        self.control("-i", "on")
        self.control("-z")
        load()
        self.control("-i", "off")
        known = set(glob.glob(self.output + ".*"))
        self.control("-d")
        dumps = {dump: Profile(dump) for dump in set(glob.glob(self.output + ".*")) - known}
        dump = max(dumps, key=lambda each: dumps[each].count(EXCHANGE_END))
        if folder := os.environ.get("CALLGRIND_FOLDER"):
            shutil.copy(dump, os.path.join(folder, name + ".callgrind"))
        return dumps[dump]


def start_gateway(bed, name, upstream, counters, device):
    """A gateway under callgrind that answers, its port, and the one for HTTP/2 too."""
    port, both, admin = testbed.free_ports(3)
    bed.configure_gateway(
        name, port, admin, upstream, counters, challenge_ttl="10m", routes=TOKEN_ROUTE,
        listeners=f"  - {{ bind: 127.0.0.1:{both}, protocols: [http/1.1, h2] }}")
    # A load generator's counters begin at 1 in each run.
    for seed in ("warm-up", "counted"):
        bed.import_keys(name, seed, DEVICES)
    import_device(bed, name, device)
    counted = Counted(bed, name, [bed.gateway, "run", "-c", bed.path(name + ".yaml")])
    bed.await_answer(counted.process, f"http://127.0.0.1:{admin}/readyz", 120)
    return counted, port, both


def measure(bed):
    testbed.announce(bed)
    upstream, redis = testbed.free_ports(2)
    bed.start_upstream(upstream)
    bed.start("redis", [
        "redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", "",
        "--appendonly", "no"])
    device = Device(bed)
    embedded, port, both = start_gateway(bed, "embedded", upstream, "embedded", device)
    with_redis, redis_port, _ = start_gateway(
        bed, "with-redis", upstream, f"{{ redis: redis://127.0.0.1:{redis}/0 }}", device)
    token = token_at(port, device)

    def plain(_, seconds):
        bed.wrk_result(bed.start_wrk("wrk", port, seconds, CONNECTIONS))

    def http2(_, seconds):
        h2.load(bed, f"http://127.0.0.1:{both}/", seconds, CONNECTIONS, STREAMS)

    def tokened(_, seconds):
        bed.wrk_result(bed.start_wrk("wrk", port, seconds, CONNECTIONS, path=TOKENED,
                                     header=f"X-App-Attest-Token: {token}"))

    def verified(port):
        return lambda seed, seconds: bed.load_result(
            bed.start_load("load", port, seconds, seed, DEVICES, CONNECTIONS))

    found = {}
    for name, counted, load in (
            ("plain", embedded, plain), ("http2", embedded, http2), ("token", embedded, tokened),
            ("verified", embedded, verified(port)),
            ("redis", with_redis, verified(redis_port))):
        load("warm-up", WARM_UP_SECONDS)
        profile = counted.measure(name, lambda: load("counted", SECONDS))
        # Of verified requests those that got as far as their signature.
        count = profile.calls[VERIFICATION] or profile.count(EXCHANGE_END)
        total = profile.instructions / count
        print(f"\n| {name}: instructions a request | {total:,.0f} |")
        print("| --- | --- |")
        for file, cost in profile.by_object.most_common(ROWS):
            print(f"| {file} | {cost / count:,.0f} |")
        found[name] = total - profile.inclusive[VERIFICATION] / count
        allocations = profile.count(ALLOCATION) / count
        print(f"| allocations of the gateway's own | {allocations:.2f} |")
        found[name + "-allocations"] = allocations
        if name == "token":
            found[name] -= found["plain"]
            print(f"| above a plain request | {found[name]:,.0f} |")
        elif name not in ("plain", "http2"):
            print(f"| in {VERIFICATION} | {total - found[name]:,.0f} |")
            found[name] -= found["plain"]
            print(f"| above a plain request and {VERIFICATION} | {found[name]:,.0f} |")
    return 0 if "--budget" not in bed.options else compare(found)


def compare(found):
    """Prints a line for each budget; 1 if one is exceeded."""
    exceeded = 0
    print()
    with open(BUDGET, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    for name, budget in lines:
        is_kept = found[name] <= float(budget)
        exceeded += not is_kept
        print(f"{'pass' if is_kept else 'FAIL'}: {name}: {found[name]:,.2f} of {budget}")
    return min(1, exceeded)


if __name__ == "__main__":
    testbed.main(measure, "--budget")
