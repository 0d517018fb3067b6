"""Measures what docs/recipes/capacity.md computes; prints a table of both, and their ratio. Ends
with 1 if anything takes more than the formula says."""

import os
import re
import resource
import ssl
import statistics
import time
import urllib.request

import bench
import formula
import idle
import testbed
import tls

ROUNDS = int(os.environ.get("ROUNDS", "5"))
# Of each kind in each round.
HANDSHAKES = 200
IDLE_CONNECTIONS, IDLE_TLS_CONNECTIONS = 9_000, 3_000
# A gateway's memory is first read after the load of some devices, which leaves its buffers and
# SQLite's cache full, so that what others add is theirs alone.
FIRST_KEYS, MORE_KEYS = 20_000, 50_000
FIRST_SECONDS, MORE_SECONDS = 5, 10
# So long that challenges and floors of the first devices are still there in the end.
CHALLENGE_TTL = 600
SETTLE_SECONDS = 3
# Medians of one build differ by a tenth while other programs run. And a processor that was to be
# busy for 60 % of its time is so for 69 % at this ratio, which leaves room for bursts.
RATIO_MAX = 1.15
# Below this the formula has its user buy half as much again as is needed, which is worth a word.
RATIO_WASTE = 0.67


class Row:
    """Something that was measured, and what the formula says of it."""

    def __init__(self, name, measured, computed):
        self.name, self.measured, self.computed = name, measured, computed
        self.ratio = measured / computed

    def cells(self):
        return self.name, f"{self.measured:.1f}", f"{self.computed:.1f}", f"{self.ratio:.2f}"


def listener(bed, key, port):
    """A line of ``Testbed.configure_gateway``: TLS with this key."""
    files = f"certificate: {bed.path(key)}.crt, key: {bed.path(key)}.key"
    return f"  - {{ bind: 127.0.0.1:{port}, tls: {{ {files} }} }}\n"


class Handshakes:
    """A gateway with two keys, and clients for each kind of handshake."""

    def __init__(self, bed):
        upstream, clear, ecdsa, rsa, admin = testbed.free_ports(5)
        bed.start_upstream(upstream, bed.load_cpu)
        bed.configure_gateway(
            "handshakes", clear, admin, upstream,
            listeners=listener(bed, "ecdsa", ecdsa) + listener(bed, "rsa", rsa))
        self.process = bed.start_gateway("handshakes", admin, bed.server_cpu)[0]
        old, new = tls.client(ssl.TLSVersion.TLSv1_2), tls.client(ssl.TLSVersion.TLSv1_3)
        # By the names of formula.HANDSHAKE, with the session that is resumed.
        self.kinds = {
            "ecdsa": (new, ecdsa, None), "rsa": (new, rsa, None),
            "resumed": (new, ecdsa, tls.session_of(new, ecdsa)),
            "resumed-1.2": (old, ecdsa, tls.session_of(old, ecdsa)),
        }

    def measure(self, kind):
        """Microseconds of the gateway's processor for one."""
        context, port, session = self.kinds[kind]
        return tls.handshakes(context, self.process, port, HANDSHAKES, session) * 1000


def processor_time(bed):
    """Microseconds of requests and handshakes. A machine's speed changes with what else its host
    does, so each round also measures the verification by OpenSSL that the formula begins with."""
    servers, handshakes = bench.Servers(bed), Handshakes(bed)
    kinds = {
        "plain request, us": (
            formula.PLAIN, lambda _: servers.measure_plain("Sallyport").microseconds),
        "verified request, us": (
            formula.VERIFIED,
            lambda number: servers.measure_verified("embedded", number).microseconds),
        "verified request with Redis, us": (
            formula.VERIFIED_REDIS,
            lambda number: servers.measure_verified("Redis", number).microseconds),
    }
    for kind, factor in formula.HANDSHAKE.items():
        kinds[f"TLS handshake, {kind}, us"] = factor, lambda _, kind=kind: handshakes.measure(kind)
    samples, verifications = {name: [] for name in kinds}, []
    for number in range(ROUNDS):
        for name, (_, run) in kinds.items():
            samples[name].append(run(number))
        verifications.append(bench.verification_microseconds(bed))
    print(f"\nOne P-256 verification by openssl speed: {bench.median(verifications, ' us')}.")
    unit = statistics.median(verifications)
    return [Row(name, statistics.median(samples[name]), factor * unit)
            for name, (factor, _) in kinds.items()]


def idle_memory(bed):
    """What idle connections add, in clear text and with TLS, each on a gateway of its own: what one
    has used and freed would hide what the other needs."""
    (upstream,) = testbed.free_ports(1)
    bed.start_upstream(upstream, bed.load_cpu)
    context = tls.client(ssl.TLSVersion.TLSv1_3)

    def secured(plain):
        return context.wrap_socket(plain, server_hostname="localhost")

    rows = []
    for client, count, wrap in [
            ("http", IDLE_CONNECTIONS, []), ("tls", IDLE_TLS_CONNECTIONS, [secured])]:
        clear, secure, admin = testbed.free_ports(3)
        name = "idle-" + client
        bed.configure_gateway(
            name, clear, admin, upstream, listeners=listener(bed, "ecdsa", secure))
        process = bed.start_gateway(name, admin, bed.server_cpu)[0]
        before, each = idle.measure(process, secure if wrap else clear, count, *wrap)
        if not wrap:
            rows.append(Row("gateway without connections, MiB", before, formula.BASE / testbed.MIB))
        rows.append(Row(f"{count:,} idle connections, {client}, KiB each", each,
                        formula.IDLE_CONNECTION[client] / formula.KIB))
    return rows


def key_memory(bed):
    """What more keys in use add with embedded counters, with the challenges that they spend, and
    what the gateway then has in all."""
    upstream, port, admin = testbed.free_ports(3)
    bed.start_upstream(upstream, bed.load_cpu)
    bed.configure_gateway("keys", port, admin, upstream, challenge_ttl=f"{CHALLENGE_TTL}s")
    for seed, count in ("first", FIRST_KEYS), ("more", MORE_KEYS):
        bed.import_keys("keys", seed, count)
    process = bed.start_gateway("keys", admin, bed.server_cpu)[0]

    def state_after(seconds, seed, count):
        """Resident MiB, keys in use and challenges spent. The gateway counts them, as the load
        generator says nothing of those of its own warm-up."""
        bed.load_result(bed.start_load(
            "load-keys", port, seconds, seed, count, bench.CONNECTIONS, bed.load_cpu, process))
        time.sleep(SETTLE_SECONDS)
        resident = testbed.resident_mib(process)
        with urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=30) as answer:
            metrics = answer.read().decode()
        return (resident, total(metrics, "sallyport_first_assertions_total"),
                total(metrics, r'sallyport_requests_total\{[^}]*route="verified"[^}]*\}'))

    def computed(keys, spent):
        """MiB. The formula knows challenges by their rate, and here they have a number."""
        without = formula.memory(0, keys, 0, 0, CHALLENGE_TTL, "http", workers=1, sqlite=True)
        return (without + formula.SPENT_CHALLENGE * spent) / testbed.MIB

    first = state_after(FIRST_SECONDS, "first", FIRST_KEYS)
    then = state_after(MORE_SECONDS, "more", MORE_KEYS)
    grown, keys, spent = (b - a for a, b in zip(first, then))
    return [Row(f"{keys:,} keys more, {spent:,} requests, MiB more", grown,
                computed(keys, spent) - computed(0, 0)),
            Row(f"{then[1]:,} keys, {then[2]:,} requests, MiB in all", then[0],
                computed(*then[1:]))]


def total(metrics, series):
    """The sum of all series that the expression matches."""
    found = re.findall(rf"^{series} (\d+)$", metrics, re.MULTILINE)
    if not found:
        raise testbed.Failure(f"no {series} in /metrics")
    return sum(map(int, found))


def judge(rows):
    """Says what the formula has wrong; 1 if it promises too little, which would make a gateway that
    was bought by it too small."""
    print("\nA ratio above 1 takes more than the formula says.")
    for row in rows:
        if row.ratio < RATIO_WASTE:
            print(f"wastes: {row.name}: {row.ratio:.2f} of what the formula says")
    exceeded = [row for row in rows if row.ratio > RATIO_MAX]
    for row in exceeded:
        print(f"FAIL: {row.name}: {row.ratio:.2f} of what the formula says, at most {RATIO_MAX}")
    if exceeded:
        print("The formula promises too little. Measure again when nothing else runs; if that "
              "finds the same,\nBenchmarks/formula.py and docs/recipes/capacity.md need larger "
              "figures.")
    return 1 if exceeded else 0


def measure(bed):
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    bed.connections_max = IDLE_CONNECTIONS + 100
    tls.mint(bed, "ecdsa", ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
    tls.mint(bed, "rsa", ["rsa:2048"])
    testbed.announce(bed)
    rows = [*processor_time(bed), *idle_memory(bed), *key_memory(bed)]
    bench.table("Capacity: what is, and what the formula says",
                ("what", "measured", "formula", "ratio"), *(row.cells() for row in rows))
    return judge(rows)


if __name__ == "__main__":
    testbed.main(measure)
