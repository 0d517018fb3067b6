"""Latencies at half of the verified requests that a gateway can bear: an open loop, whose rate does
not wait for answers; prints a table, writes JSON and charts."""

import statistics

import bench
import results
import testbed
from bench import CONNECTIONS, DEVICES, ROUND_SECONDS, ROUNDS

TITLE = "Latency at half of the verified requests that Sallyport can bear"
LOAD = 0.5
# More than nginx's plain request, in verifications by OpenSSL.
VERIFICATIONS_MAX = 1.5


class Subject:
    """A server, and the requests that it is sent."""

    def __init__(self, bed, port, is_signed):
        self.bed, self.port, self.is_signed = bed, port, is_signed
        self.runs = 0
        self.half = 0
        self.results = []

    def load(self, *more):
        """What the load generator reports. Each run has devices of its own."""
        bed = self.bed
        if self.is_signed:
            seed = f"run-{self.runs}"
            self.runs += 1
            return bed.load_result(bed.start_load(
                seed, self.port, ROUND_SECONDS, seed, DEVICES, CONNECTIONS, bed.load_cpu,
                more=more))
        return bed.load_result(bed.start_unsigned_load(
            "plain", self.port, ROUND_SECONDS, CONNECTIONS, bed.load_cpu, more))

    def find_half(self):
        """Half of the requests a second that it answers in a closed loop. Plain requests have the
        rate of verified ones: at half of their own the load generator and the API, which share a
        processor, would be what is measured."""
        self.half = round(LOAD * self.load()["requests_per_second"])

    def measure(self):
        """One round at that rate."""
        self.results.append(self.load("--rate", str(self.half)))

    def row(self, name):
        """Medians of the rounds, and what was still to be sent at the end of the worst."""
        return (name, self.half,
                *(bench.median(each["latency_us"][share] for each in self.results)
                  for share in ("p50", "p99")),
                max(each["late"] for each in self.results))

    def figures(self):
        """Those of all rounds."""
        return [{"requests_per_second": each["requests_per_second"], "late": each["late"],
                 "p50_us": each["latency_us"]["p50"], "p99_us": each["latency_us"]["p99"]}
                for each in self.results]

    def latency(self, share):
        """The median of that percentile over the rounds, in microseconds."""
        return statistics.median(each["latency_us"][share] for each in self.results)


def start(bed):
    """nginx and gateways before one API; the last two verify."""
    upstream, nginx, port, admin, batched, batched_admin = testbed.free_ports(6)
    # The load generator, which never sleeps, and whatever else runs would hold them up for some
    # milliseconds now and then.
    if not testbed.prefer(bed.start_upstream(upstream, bed.load_cpu)):
        print("Nothing can be given precedence: the 99th percentiles are the scheduler's.")
    testbed.prefer(bed.start_nginx_proxy(nginx, upstream, bed.server_cpu))

    def gateway(name, port, admin, crypto, precede=testbed.prefer):
        bed.configure_gateway(name, port, admin, upstream, more=f"crypto: {{ {crypto} }}")
        for number in range(ROUNDS + 1):
            bed.import_keys(name, f"run-{number}", DEVICES)
        precede(bed.start_gateway(name, admin, bed.server_cpu)[0])

    gateway("gateway", port, admin, "batch: off")
    subjects = {
        "nginx, plain": Subject(bed, nginx, False),
        "Sallyport, plain": Subject(bed, port, False),
        "Sallyport, verified": Subject(bed, port, True),
    }
    library = testbed.signature_library()
    if library:
        # At half of what it can bear most batches are small, so that it rests little.
        gateway("batches", batched, batched_admin, f"library: {library}", testbed.favour)
        subjects["Sallyport, verified, batches"] = Subject(bed, batched, True)
    return subjects


def measure(bed):
    """Each round measures each server once, at the rate found before."""
    facts = testbed.announce(bed)
    subjects = start(bed)
    for subject in subjects.values():
        if subject.is_signed:
            subject.find_half()
    for subject in subjects.values():
        subject.half = subject.half or subjects["Sallyport, verified"].half
    for number in range(ROUNDS):
        for name in bench.turned(list(subjects), number):
            subjects[name].measure()
    bench.table(
        f"{TITLE}, {ROUNDS} rounds of {ROUND_SECONDS} s",
        ("requests", "a second", "p50 us", "p99 us", "late"),
        *(subject.row(name) for name, subject in subjects.items()))
    verification = bench.verification_microseconds(bed)
    print(f"\nOne verification takes {verification:.1f} us. nginx's plain request and "
          f"{VERIFICATIONS_MAX} of them, against a verified one:")
    for share in ("p50", "p99"):
        bound = subjects["nginx, plain"].latency(share) + VERIFICATIONS_MAX * verification
        found = subjects["Sallyport, verified"].latency(share)
        print(f"{share}: at most {bound:.0f} us, {found:.0f}: "
              f"{'kept' if found <= bound else 'exceeded'}")
    group = {name: subject.figures() for name, subject in subjects.items()}
    results.write(results.path("latency.json"), facts,
                  {**bench.SETTINGS, "verification_us": verification}, {"half_load": group})
    results.draw("latency", f"{TITLE}, one processor", group, ["p50", "p99"])
    return 0


if __name__ == "__main__":
    testbed.main(measure)
