"""What the first request of a key costs beyond later ones; prints a table."""

import bench
import testbed
from bench import ROUND_SECONDS, ROUNDS

# How many devices are there for each second, by the connections that they share. Each of them has
# to come at most once in the first pass, on a faster machine, too.
DEVICES_A_SECOND = {1: 6_000, 32: 20_000}
AIM = 20
# The share of them that come in the second pass, again and again: those of each connection have
# come in the first one, though connections are not equally fast.
SHARE = 3 / 4


def passes(bed, connections, upstream, number):
    """Two passes over the same devices: in the first one each comes for the first time."""
    port, admin = testbed.free_ports(2)
    devices = DEVICES_A_SECOND[connections] * ROUND_SECONDS
    name, seed = f"first-{connections}-{number}", f"first-{number}"
    bed.configure_gateway(name, port, admin, upstream, challenge_ttl="20m",
                          more="crypto: { batch: off }")
    bed.import_keys(name, seed, devices)
    gateway = bed.start_gateway(name, admin, bed.server_cpu)[0]

    def load(devices, first_counter):
        return bed.load_result(bed.start_load(
            "load", port, ROUND_SECONDS, seed, devices, connections, bed.load_cpu, gateway,
            more=["--warm-up", "0", "--first-counter", str(first_counter)]))

    first = load(devices, 0)
    if first["requests"] > devices:
        raise testbed.Failure(f"{first['requests']} first requests of {devices} devices")
    later = load(int(first["requests"] * SHARE), 1_000_000)
    bed.end(gateway)
    return first, later


def measure(bed):
    """Each round makes both passes with one connection and with many."""
    testbed.announce(bed)
    upstream, = testbed.free_ports(1)
    bed.start_upstream(upstream, bed.load_cpu)
    rows = []
    for connections in DEVICES_A_SECOND:
        rounds = [passes(bed, connections, upstream, number) for number in range(ROUNDS)]
        first, later = (
            [(each["server_cpu_us_per_request"], each["latency_us"]["p50"]) for each in of]
            for of in zip(*rounds))
        more, longer = ([a - b for a, b in zip(of, other)]
                        for of, other in zip(zip(*first), zip(*later)))
        rows.append((
            str(connections), *(bench.median(each[0] for each in of) for of in (first, later)),
            bench.median(more), f"<= {AIM}", bench.median(longer)))
    bench.table(
        f"A verified request, {ROUNDS} rounds of {ROUND_SECONDS} s, keys in SQLite",
        ("connections", "first, us", "later, us", "more", "aim", "p50 longer by, us"), *rows)
    return 0


if __name__ == "__main__":
    testbed.main(measure)
