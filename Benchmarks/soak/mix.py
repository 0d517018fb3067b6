"""Clients of every kind at two gateways, while stores, clocks and certificates change."""

import collections
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# pylint: disable=wrong-import-position
import charts
import clients
import parts
import testbed
from device import Device
from gateways import Certificate, start_pair
from history import UNKNOWN, History, canary

SECONDS = int(os.environ.get("MIX_SECONDS", "300"))
SEED = int(os.environ.get("MIX_SEED", "1"))
REPORT = os.environ.get("MIX_REPORT", ".build/soak")
DEVICES = 3
# Between two requests of a client: hours have to go by, and the machine is used by others too.
REST_SECONDS = 0.1
# Just under the default of limits.body.
LARGE_BYTES = testbed.MIB - 1
GROWTH_MIB_MAX = 20
# A POST takes no connection that has been idle for a second, so each pause of Redis leaves some to
# the upstream that wait for their end (upstreams.*.idle_timeout, a minute).
DESCRIPTOR_GROWTH_MAX = 64
# Apart enough that clocks differ by less than trust.clock_skew, and more than any request takes.
CLOCK_SECONDS = 20
FIFTHS = 5


class Mix:
    """The parts, the clients, and what they saw."""

    def __init__(self, bed):
        self.bed = bed
        self.history = History()
        self.lock = threading.Lock()
        self.faults = []
        self.done = collections.Counter()
        self.samples = collections.defaultdict(list)
        self.latencies = []
        self.began = self.end = 0

    def start(self):
        """API, stores, certificate, gateways and devices."""
        ports = testbed.free_ports(2)
        parts.start_api(ports[0])
        self.grpc = parts.start_grpc(ports[1])
        self.registry = parts.Registry(self.bed)
        self.redis = parts.Redises(self.bed)
        self.certificate = Certificate(self.bed)
        self.gateways = start_pair(
            self.bed, ports, self.registry.url, self.redis.settings(), self.certificate)
        self.devices = [
            Device(self.bed, f"device-{number}") for number in range(DEVICES + 1)]
        records = self.bed.write("records", "".join(
            device.record() + "\n" for device in self.devices))
        with open(records, encoding="utf-8") as file:
            subprocess.run(
                [self.bed.gateway, "keys", "import", "-c", self.bed.path("gateway-a.yaml")],
                stdin=file, check=True, capture_output=True)
        for gateway in self.gateways:
            gateway.start()

    # What clients ask and tell

    def over(self):
        """Whether the time is over."""
        return time.monotonic() >= self.end

    def rest(self):
        """Waits before a client's next request."""
        time.sleep(REST_SECONDS)

    def expect(self, name, what, allowed):
        """Counts what a client has done; what is not allowed is a fault."""
        with self.lock:
            self.done[name] += 1
            if what not in allowed:
                at = time.monotonic() - self.began
                self.faults.append(f"{name}: {what}, {at:.0f} s after the start")

    def accepted_at(self, began):
        """Notes how long an accepted request took."""
        self.latencies.append((began - self.began, 1e3 * (time.monotonic() - began)))

    # What is done to gateways and stores

    def disrupt(self, kinds, rng):
        """One after another, by the seed. Two do this beside each other, so that faults meet."""
        while not self.over():
            time.sleep(rng.uniform(2, 8))
            kind = rng.choice(kinds)
            gateway = rng.choice(self.gateways)
            self.done[kind] += 1
            if kind == "reload":
                gateway.reload()
            elif kind == "certificate":
                self.certificate.mint()
                for each in self.gateways:
                    each.reload()
            elif kind == "upgrade":
                gateway.upgrade()
            elif kind == "clock":
                gateway.move_clock(rng.choice([-CLOCK_SECONDS, 0, CLOCK_SECONDS]))
            elif kind == "PostgreSQL restarted":
                self.registry.restart(
                    rng.choice([signal.SIGINT, signal.SIGQUIT]), rng.uniform(0, 2))
            elif kind == "Redis paused":
                self.redis.pause(rng.uniform(0, 4))
            else:
                self.redis.lose("all" if kind == "Redis lost" else "master", rng.uniform(0, 4))

    def watch(self):
        """Memory, descriptors and upgrades of the gateways, each second."""
        while not self.over():
            for gateway in self.gateways:
                process = gateway.process
                if process.poll() is not None:
                    self.faults.append(f"{gateway.name} ended with {process.returncode}: "
                                       + self.bed.log(gateway.name)[-500:])
                    self.end = 0
                    return
                if wrong := gateway.follow_upgrade():
                    self.faults.append(wrong)
                descriptors = len(os.listdir(f"/proc/{process.pid}/fd"))
                self.samples[gateway.name].append(
                    (time.monotonic() - self.began, testbed.resident_mib(process), descriptors))
            time.sleep(1)

    def run(self):
        """All at once, until the time is over."""
        large = self.bed.path("large")
        with open(large, "wb") as file:
            file.truncate(LARGE_BYTES)
        first, second = self.gateways
        url, tls = f"http://127.0.0.1:{first.port}/", f"https://127.0.0.1:{second.tls}/"
        self.began = time.monotonic()
        self.end = self.began + SECONDS
        rngs = (random.Random(SEED * 100 + number) for number in range(100))
        calls = [
            (clients.curl, self, "HTTP/1.1", "200 1.1", url),
            (clients.curl, self, "TLS", "200 1.1", "--http1.1", tls),
            (clients.curl, self, "HTTP/2", "200 2", "--http2", tls),
            (clients.curl, self, "large body", "200 1.1", "-H", "Expect:", "--data-binary",
             "@" + large, url),
            (clients.stream, self, first), (clients.stream, self, second),
            (clients.websocket, self, first), (clients.websocket, self, second),
            (self.disrupt, ["reload", "certificate", "upgrade", "clock"], next(rngs)),
            (self.disrupt, ["Redis lost", "master lost", "Redis paused",
                            "PostgreSQL restarted"], next(rngs)),
            (self.watch,),
            *((clients.Signer(device, self.gateways, next(rngs), self).run,)
              for device in self.devices[1:]),
            (clients.TokenUser(self.devices[0], self.gateways, next(rngs), self).run,)]
        threads = [threading.Thread(target=self.guard, args=each) for each in calls]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def guard(self, actor, *words):
        """A client that breaks is a fault, and no silence."""
        try:
            actor(*words)
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.faults.append(f"{actor.__name__}: {error!r}")

    # Verdict

    def verdict(self):
        """Prints what was done and what was wrong, writes the plots; 1 if anything was wrong."""
        faults = self.faults + self.history.faults(
            parts.Upstream.forwarded, clients.SIGNED_ALLOWED)
        for name, samples in self.samples.items():
            faults += growth(name, samples)
        for fifth in range(FIFTHS):
            if not any(int(FIFTHS * at / SECONDS) == fifth for at, _ in self.latencies):
                faults.append(f"nothing was accepted in fifth {fifth + 1} of the time")
        counts = self.history.count()
        if not counts[401]:
            faults.append("no replay was refused")
        print("      signed and replayed:", ", ".join(
            f"{'unknown' if key is UNKNOWN else key} {counts[key]}" for key in counts))
        print("      " + ", ".join(f"{name} {count}" for name, count in self.done.items()))
        self.plot()
        for fault in faults[:50]:
            print("FAIL  " + fault, flush=True)
        print(f"{len(faults)} faults in {SECONDS} s, seed {SEED}; plots in {REPORT}")
        return 1 if faults else 0

    def plot(self):
        """Memory, descriptors, and the latency that half and nearly all stayed below."""
        os.makedirs(REPORT, exist_ok=True)
        across = "seconds since the start"
        for index, name, title, unit in (
                (1, "memory", "Resident memory of both gateways", "MiB"),
                (2, "descriptors", "Open descriptors of both gateways", "descriptors")):
            charts.lines(os.path.join(REPORT, name + ".svg"), title, across, unit, {
                gateway: [(each[0], each[index]) for each in thin(samples)]
                for gateway, samples in self.samples.items()})
        slices = collections.defaultdict(list)
        for at, value in self.latencies:
            slices[int(100 * at / SECONDS)].append(value)
        shares = {"median": 0.5, "95th percentile": 0.95}
        charts.lines(os.path.join(REPORT, "latency.svg"), "Accepted requests", across,
                     "latency, ms", {
                         name: [(SECONDS * each / 100, sorted(values)[int(share * len(values))])
                                for each, values in sorted(slices.items())]
                         for name, share in shares.items()})


def growth(name, samples):
    """Prints how memory and descriptors went, and returns what is wrong with it."""
    found, fifth = [], max(1, len(samples) // FIFTHS)
    for index, unit, bound in ((1, "MiB", GROWTH_MIB_MAX),
                               (2, "descriptors", DESCRIPTOR_GROWTH_MAX)):
        values = [each[index] for each in samples]
        # The first fifth is warm-up.
        before, after = (statistics.median(part or [0]) for part in (
            values[fifth:2 * fifth], values[-fifth:]))
        print(f"      {name}, {unit}: {before:.1f} in the second fifth, {after:.1f} in the last, "
              f"at most {max(values, default=0):.1f}")
        if after - before > bound:
            found.append(f"{name}: {unit} grew by {after - before:.1f}, at most {bound}")
    return found


def thin(samples):
    """At most a thousand of them."""
    return samples[::len(samples) // 1000 + 1]


def measure(bed):
    """The whole run."""
    canary()
    for line in testbed.machine(bed):
        print(line)
    mix = Mix(bed)
    mix.start()
    print(f"\n{SECONDS} s of mixed requests and faults, seed {SEED}", flush=True)
    mix.run()
    return mix.verdict()


if __name__ == "__main__":
    testbed.main(measure)
