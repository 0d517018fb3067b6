"""Counts the instructions of a request in user space, by callgrind: the same on a busy machine."""

import glob
import os
import subprocess

import testbed

CONNECTIONS = 1
# Few, so that what the first request of each costs does not show.
DEVICES = 4
WARM_UP_SECONDS = 8
SECONDS = 12
ROWS = 6


class Counted:
    """A server under callgrind, which counts during `measure` only."""

    def __init__(self, bed, name, command):
        self.output = bed.path(f"{name}.callgrind")
        self.process = bed.start(name, [
            "valgrind", "--tool=callgrind", "--instr-atstart=no",
            f"--callgrind-out-file={self.output}", *command])

    def control(self, *arguments):
        subprocess.run(
            ["callgrind_control", *arguments, str(self.process.pid)], check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def measure(self, load):
        """Runs `load`, which returns how many requests it made, and returns that number and the
        instructions of all of them by library or program."""
        self.control("-i", "on")
        self.control("-z")
        count = load()
        self.control("-i", "off")
        self.control("-d")
        dump = max(glob.glob(self.output + ".*"), key=os.path.getmtime)
        return count, by_object(dump)


def by_object(dump):
    """Instructions by the file that their code is in, from callgrind's output: lines `ob=(1) path`
    or `ob=(1)`, then costs; the line after `calls=` has the cost of what was called, again."""
    costs, names, current, is_call = {}, {}, "?", False
    with open(dump, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("ob=", "cob=")):
                number, _, name = line.partition("=")[2].strip().partition(" ")
                if name:
                    names[number] = os.path.basename(name)
                if line.startswith("ob="):
                    current = names.get(number, number)
            elif line.startswith("calls="):
                is_call = True
            elif line[:1] in "0123456789+-*":
                if not is_call:
                    costs[current] = costs.get(current, 0) + int(line.split()[1])
                is_call = False
    return costs


def measure(bed):
    upstream, port, admin = testbed.free_ports(3)
    bed.start_upstream(upstream)
    bed.configure_gateway("gateway", port, admin, upstream, challenge_ttl="10m")
    # A load generator's counters begin at 1 in each run.
    for seed in ("warm-up", "counted"):
        bed.import_keys("gateway", seed, DEVICES)
    counted = Counted(bed, "gateway", [bed.gateway, "run", "-c", bed.path("gateway.yaml")])
    bed.await_answer(counted.process, f"http://127.0.0.1:{admin}/readyz", 120)

    def plain(_, seconds):
        return bed.wrk_result(bed.start_wrk("wrk", port, seconds, CONNECTIONS))[0]

    def verified(seed, seconds):
        return bed.load_result(bed.start_load(
            "load", port, seconds, seed, DEVICES, CONNECTIONS))["requests"]

    print("\n".join(testbed.machine(bed)))
    for name, load in (("plain", plain), ("verified", verified)):
        load("warm-up", WARM_UP_SECONDS)
        count, costs = counted.measure(lambda: load("counted", SECONDS))
        print(f"\n| {name}: instructions a request | {sum(costs.values()) / count:,.0f} |")
        print("| --- | --- |")
        for file, cost in sorted(costs.items(), key=lambda each: -each[1])[:ROWS]:
            print(f"| {file} | {cost / count:,.0f} |")
    return 0


if __name__ == "__main__":
    testbed.main(measure)
