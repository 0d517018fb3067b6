"""Measures what docs/recipes/capacity.md computes; prints a table of both, and their ratio."""

import os
import statistics
import time

import bench
import formula
import testbed

ROUNDS = int(os.environ.get("ROUNDS", "5"))
IDLE_CONNECTIONS = 2000
CACHED_KEYS = 20_000
SETTLE_SECONDS = 3


def processor_time(bed):
    """Microseconds a request: measured, and by the formula from one verification of OpenSSL."""
    servers = bench.Servers(bed)
    plain, verified, redis, verification = [], [], [], []
    for number in range(ROUNDS):
        plain.append(servers.measure_plain("Sallyport").microseconds)
        verification.append(bench.verification_microseconds(bed))
        verified.append(servers.measure_verified("embedded", number).microseconds)
        redis.append(servers.measure_verified("Redis", number).microseconds)
    unit = statistics.median(verification)
    yield "P-256 verification (openssl speed), us", unit, unit
    for name, factor, samples in [
        ("plain request, us", formula.PLAIN, plain),
        ("verified request, us", formula.VERIFIED, verified),
        ("verified request with Redis, us", formula.VERIFIED_REDIS, redis),
    ]:
        yield name, statistics.median(samples), factor * unit


def start(bed, name, upstream, devices):
    port, admin = testbed.free_ports(2)
    bed.configure_gateway(name, port, admin, upstream)
    bed.import_keys(name, "keys", devices)
    return bed.start_gateway(name, admin, bed.server_cpu)[0], port


def memory(bed):
    """MiB of a gateway: idle connections, and keys in use; each on a gateway of its own."""
    (upstream,) = testbed.free_ports(1)
    bed.start_upstream(upstream, bed.load_cpu)
    process, port = start(bed, "idle", upstream, 1)
    connections = testbed.idle_connections(port, IDLE_CONNECTIONS)
    time.sleep(SETTLE_SECONDS)
    yield (f"{IDLE_CONNECTIONS} idle connections, MiB", testbed.resident_mib(process),
           formula.memory(0, 0, IDLE_CONNECTIONS, 0, 120, "http", workers=1) / testbed.MIB)
    for connection in connections:
        connection.close()

    process, port = start(bed, "keys", upstream, CACHED_KEYS)
    began = time.monotonic()
    result = bed.load_result(bed.start_load(
        "load", port, 10, "keys", CACHED_KEYS, bench.CONNECTIONS, bed.load_cpu, process))
    elapsed = time.monotonic() - began
    # Each request spends a challenge, and all of them are remembered until the measurement ends.
    spent = result["requests_per_second"] * elapsed
    keys = min(CACHED_KEYS, spent)
    expected = (formula.memory(0, keys, bench.CONNECTIONS, bench.CONNECTIONS, 0, "http", workers=1)
                + formula.SPENT_CHALLENGE * spent)
    yield (f"{keys:.0f} keys, {spent:.0f} requests, MiB", testbed.resident_mib(process),
           expected / testbed.MIB)


def measure(bed):
    for line in testbed.machine(bed):
        print(line)
    rows = [*processor_time(bed), *memory(bed)]
    bench.table(
        "Capacity: what is, and what the formula says", ("what", "measured", "formula", "ratio"),
        *((name, f"{measured:.1f}", f"{computed:.1f}", f"{measured / computed:.2f}")
          for name, measured, computed in rows))
    print("\nA ratio above 1 takes more than the formula says. For memory the formula is a bound.")
    return 0


if __name__ == "__main__":
    testbed.main(measure)
