"""Plain and verified requests beside nginx and HAProxy, one processor each, in one run."""

import os
import re
import statistics
import sys
import time

import results
import testbed
from device import Device, import_device, token_at

ROUNDS = int(os.environ.get("ROUNDS", "5"))
ROUND_SECONDS = int(os.environ.get("ROUND_SECONDS", "3"))
CONNECTIONS = 32
DEVICES = 256
# The signatures of one turn are verified together.
BATCHES = ", batches"
# What forwards bytes that it does not read: no proxy can take less.
FORWARDER = "bare forwarder"
TOKENS = "Sallyport, session tokens"
TOKENED = "/tokened"
TOKEN_ROUTE = f"""
  - name: tokened
    path: {TOKENED}
    upstream: api
    attest: {{ mode: enforce, accept: [token] }}
"""
SETTINGS = {"rounds": ROUNDS, "round_seconds": ROUND_SECONDS, "connections": CONNECTIONS,
            "devices": DEVICES}
# The load generator signs its requests before a round, or a fast gateway would wait for it: as many
# as this share of those that are expected. The round that finds their number has no part in results.
AHEAD_SHARE = 1.25
PROBE = "probe"
# Below this the server did not have its processor to itself, or was not kept busy.
BUSY_SHARE_MIN = 0.9


class Sample:
    """One server in one round."""

    def __init__(self, rate, microseconds, share, latency=None, tail=None):
        self.rate, self.microseconds, self.share = rate, microseconds, share
        # The middle one and the 99th percentile in microseconds, where they were measured.
        self.latency, self.tail = latency, tail

    def figures(self):
        """What is known of it, by name."""
        known = {"requests_per_second": self.rate, "processor_us_per_request": self.microseconds,
                 "busy": self.share, "p50_us": self.latency, "p99_us": self.tail}
        return {name: value for name, value in known.items() if value is not None}


def sample_of(process, run):
    """What `run`, which returns requests and requests a second, costs `process`."""
    before, began = testbed.processor_seconds(process), time.monotonic()
    count, rate = run()
    used, elapsed = testbed.processor_seconds(process) - before, time.monotonic() - began
    return Sample(rate, used / count * 1e6, used / elapsed)


def sample_of_load(result):
    """What the load generator says of a server, whose process it was told."""
    return Sample(result["requests_per_second"], result["server_cpu_us_per_request"],
                  result["server_cpu_share"], result["latency_us"]["p50"])


def figures(samples):
    """The figures of all rounds, by server."""
    return {name: [each.figures() for each in rounds] for name, rounds in samples.items()}


def turned(names, number):
    """The names in their order, of which another one begins in each round."""
    begin = number % len(names)
    return [*names[begin:], *names[:begin]]


def median(values, unit=""):
    """`median (min-max)`, with as many digits as mean something."""
    values = list(values)
    digits = 0 if max(values) >= 1000 else 1 if max(values) >= 10 else 2
    middle, low, high = (
        f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return f"{middle}{unit} ({low}-{high})"


def table(title, *rows):
    """A table with aligned columns, which is Markdown too."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rows.insert(1, ["-" * width for width in widths])
    print(f"\n{title}\n")
    for row in rows:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")


class Servers:
    """Everything that is measured, and the API behind it."""

    def __init__(self, bed):
        (upstream, gateway, admin, redis_gateway, redis_admin, redis, nginx, haproxy, batch_gateway,
         batch_admin, redis_batch_gateway, redis_batch_admin, forwarder) = testbed.free_ports(13)
        self.bed = bed
        # The most requests a second that were verified in any round, by the place of the counters.
        self.rates = {}
        self.device = Device(bed)
        self.upstream = bed.start_upstream(upstream, bed.load_cpu)
        self.plain = {
            "Sallyport": (self.start_gateway("embedded", gateway, admin, upstream, "embedded"),
                          gateway),
            "nginx": (bed.start_nginx_proxy(nginx, upstream, bed.server_cpu), nginx),
            "HAProxy": (bed.start_haproxy(haproxy, upstream, bed.server_cpu), haproxy),
            FORWARDER: (bed.start_forwarder(forwarder, upstream, bed.server_cpu), forwarder),
        }
        self.redis = bed.start("redis", [
            "redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", "",
            "--appendonly", "no", "--maxmemory-policy", "noeviction", "--dir", bed.folder,
        ], bed.load_cpu)
        def in_redis(number):
            return f"{{ redis: redis://127.0.0.1:{redis}/{number} }}"

        with_redis = self.start_gateway(
            "redis-counters", redis_gateway, redis_admin, upstream, in_redis(0))
        self.verified = {
            "embedded": self.plain["Sallyport"],
            "Redis": (with_redis, redis_gateway),
        }
        library = testbed.signature_library()
        if library:
            crypto = f"crypto: {{ library: {library} }}"
            self.verified[f"embedded{BATCHES}"] = (
                self.start_gateway("batches", batch_gateway, batch_admin, upstream, "embedded",
                                   crypto), batch_gateway)
            self.verified[f"Redis{BATCHES}"] = (
                self.start_gateway("redis-batches", redis_batch_gateway, redis_batch_admin,
                                   upstream, in_redis(1), crypto), redis_batch_gateway)

    def start_gateway(self, name, port, admin, upstream, counters, more="crypto: { batch: off }"):
        self.bed.configure_gateway(
            name, port, admin, upstream, counters, routes=TOKEN_ROUTE, more=more)
        import_device(self.bed, name, self.device)
        # A load generator's counters begin at 1 in each run: other devices in each round.
        for seed in (PROBE, *range(ROUNDS)):
            self.bed.import_keys(name, f"round-{seed}", DEVICES)
        return self.bed.start_gateway(name, admin, self.bed.server_cpu)[0]

    def measure_token(self):
        """Requests with a session token, which lives longer than a round."""
        token = token_at(self.plain["Sallyport"][1], self.device)
        return self.measure_plain("Sallyport", TOKENED, f"X-App-Attest-Token: {token}")

    def measure_unsigned(self, server):
        """Plain requests to a server, or those with a session token."""
        return self.measure_token() if server == TOKENS else self.measure_plain(server)

    def measure_plain(self, server, path="/", header=None):
        process, port = self.plain[server]
        bed = self.bed

        def run(name, seconds):
            return bed.wrk_result(bed.start_wrk(
                name, port, seconds, CONNECTIONS, bed.load_cpu, path, header))

        run("warm-up", 1)
        return sample_of(process, lambda: run("wrk", ROUND_SECONDS))

    def measure_verified(self, counters, number):
        process, port = self.verified[counters]

        def load(seed, *more):
            return sample_of_load(self.bed.load_result(self.bed.start_load(
                f"load-{counters}", port, ROUND_SECONDS, f"round-{seed}", DEVICES, CONNECTIONS,
                self.bed.load_cpu, process, more)))

        # As many as the fastest round so far needs with its second of warm-up, and more.
        if counters not in self.rates:
            self.rates[counters] = load(PROBE).rate
        ahead = round(AHEAD_SHARE * self.rates[counters] * (1 + ROUND_SECONDS))
        # If API and store had to wait for the load generator, they would hold back the next batch.
        for peer in (self.upstream, self.redis):
            testbed.prefer(peer)
        sample = load(number, "--ahead", str(ahead))
        for peer in (self.upstream, self.redis):
            testbed.treat_alike(peer)
        self.rates[counters] = max(self.rates[counters], sample.rate)
        return sample


def verification_microseconds(bed):
    """Microseconds of one P-256 verification by `openssl speed`, by its processor time."""
    text = bed.output(
        "openssl", ["openssl", "speed", "-seconds", "1", "ecdsap256"], bed.server_cpu)
    found = re.search(r"nistp256\).*?([\d.]+)\s*$", text, re.MULTILINE)
    if not found:
        raise testbed.Failure(f"openssl speed: {text}")
    return 1e6 / float(found.group(1))


def measure(bed):
    """Every round measures everything once, so that slow times of the machine hit all alike."""
    facts = testbed.announce(bed)
    servers = Servers(bed)
    print(f"{ROUNDS} rounds of {ROUND_SECONDS} s; servers on processor {bed.server_cpu}, "
          f"clients and upstream on {bed.load_cpu}; {CONNECTIONS} connections", flush=True)
    stolen = testbed.stolen_share()
    plain = {name: [] for name in [*servers.plain, TOKENS]}
    verified = {name: [] for name in servers.verified}
    verifications = []
    for number in range(ROUNDS):
        for name in turned(list(plain), number):
            plain[name].append(servers.measure_unsigned(name))
        verifications.append(verification_microseconds(bed))
        for name in turned(list(verified), number):
            verified[name].append(servers.measure_verified(name, number))
        if sys.stderr.isatty():
            print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
    report_plain(plain)
    report_verified(plain["Sallyport"], verified, verifications)
    report_noise(bed, {**plain, **verified}, stolen())
    write(facts, plain, verified, verifications)
    return 0


def write(facts, plain, verified, verifications):
    """The figures as JSON, and charts of them."""
    verified = {f"Sallyport, {name}": each for name, each in verified.items()}
    groups = {"plain": figures(plain), "verified": figures(verified)}
    results.write(results.path("bench.json"), facts,
                  {**SETTINGS, "verification_us": verifications}, groups)
    for title, group in groups.items():
        results.draw(f"bench-{title}", f"{title.capitalize()} requests, one processor", group,
                     ["rate", "processor"])


def rows(samples):
    for name, each in samples.items():
        yield (name, median(sample.rate for sample in each),
               median(sample.microseconds for sample in each),
               f"{statistics.median(sample.share for sample in each):.0%}")


def ratios(name, ours, others, aim=None):
    """By both measures; above 1 is better than the other. Each round is compared with itself."""
    by_time = [b.microseconds / a.microseconds for a, b in zip(ours, others)]
    return (name, median(a.rate / b.rate for a, b in zip(ours, others)), median(by_time),
            verdict(statistics.median(by_time), aim))


def verdict(found, aim):
    """An aim and whether it is reached, as a cell of a table."""
    if aim is None:
        return ""
    return f">= {aim}: {'reached' if found >= aim else 'missed'}"


def report_plain(plain):
    table(f"Plain: GET, {CONNECTIONS} connections (wrk)",
          ("server", "requests/s", "processor us/request", "busy"), *rows(plain))
    ours = plain["Sallyport"]
    compare(ratios("Sallyport / nginx", ours, plain["nginx"], 1.15),
            ratios("Sallyport / HAProxy", ours, plain["HAProxy"], 1.15),
            ratios("bare forwarder / nginx", plain[FORWARDER], plain["nginx"]),
            ratios("session tokens / Sallyport", plain[TOKENS], ours, 0.92))


def compare(*lines):
    """Prints lines that ``ratios`` has made."""
    table("Compared: median (min-max) of the rounds' ratios, above 1 is better",
          ("", "by requests/s", "by processor time", "aim, by processor time"), *lines)


def report_verified(plain, verified, verifications):
    # What would be reached if a verified request cost a plain one and one verification.
    limit = [Sample(1e6 / (1e6 / sample.rate + verification),
                    sample.microseconds + verification, 1.0)
             for sample, verification in zip(plain, verifications)]
    table(f"Verified: POST of 64 bytes, signed by {DEVICES} devices, {CONNECTIONS} connections",
          ("counters", "requests/s", "processor us/request", "busy", "p50 us"),
          *((*row, median(sample.latency for sample in verified[row[0]]))
            for row in rows(verified)),
          ("limit", median(sample.rate for sample in limit),
           median(sample.microseconds for sample in limit), "", ""))
    print("\nThe limit is 1 / (plain request + one P-256 verification by openssl speed, "
          + median(verifications, " us") + ").")
    aims = {"embedded": 0.93, "Redis": 0.88, f"embedded{BATCHES}": 1.8, f"Redis{BATCHES}": 1.6}
    compare(*(ratios(f"{name} / limit", verified[name], limit, aim)
              for name, aim in aims.items() if name in verified),
            ratios("Redis / embedded", verified["Redis"], verified["embedded"]))


def report_noise(bed, samples, stolen):
    if bed.server_cpu == bed.load_cpu:
        print("\nOne processor only: servers and clients shared it. Read the processor time.")
    idle = [name for name, each in samples.items()
            if statistics.median(sample.share for sample in each) < BUSY_SHARE_MIN]
    if idle:
        print(f"\nLess than {BUSY_SHARE_MIN:.0%} of the processor: {', '.join(idle)}. Their "
              "requests/s say more about this machine\nthan about the server: read the "
              "processor time.")
    if stolen > 0.01:
        print(f"\nThe host took {stolen:.0%} of this machine's time away.")


if __name__ == "__main__":
    testbed.main(measure)
