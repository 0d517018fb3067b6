"""Signed requests and replays beside TLS, large bodies, reloads and a Redis that forgets."""

import collections
import http.server
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# pylint: disable=wrong-import-position
import peers
import testbed
from history import UNKNOWN, History, canary

SECONDS = int(os.environ.get("MIX_SECONDS", "300"))
SEED = int(os.environ.get("MIX_SEED", "1"))
REPORT = os.environ.get("MIX_REPORT", ".build/soak")
DEVICES = 3
# Just under the default of limits.body.
LARGE_BYTES = testbed.MIB - 1
GROWTH_MIB_MAX = 20
# A POST takes no connection that has been idle for a second, so each pause of Redis leaves some to
# the upstream that wait for their end (upstreams.*.idle_timeout, a minute).
DESCRIPTOR_GROWTH_MAX = 64
# A store that is away or has forgotten everything: sign again, or wait.
SIGNED_ALLOWED = {200, 401, 503}


class Upstream(http.server.BaseHTTPRequestHandler):
    """The API: it counts the nonces it gets."""
    protocol_version = "HTTP/1.1"
    forwarded = collections.Counter()
    lock = threading.Lock()

    def do_POST(self):  # pylint: disable=invalid-name
        """Reads all, counts, and answers 200."""
        length = int(self.headers.get("Content-Length", 0))
        while length > 0:
            length -= len(self.rfile.read(min(length, 1 << 16)) or b"x" * length)
        nonce = self.headers.get("X-Soak-Nonce")
        if nonce:
            with self.lock:
                self.forwarded[nonce] += 1
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    do_GET = do_POST

    def log_message(self, *_):  # pylint: disable=arguments-differ
        """Says nothing."""


class Mix:
    """The parts, the actors, and what they saw."""

    def __init__(self, bed):
        self.bed = bed
        self.random = random.Random(SEED)
        self.end = time.monotonic() + SECONDS
        self.port, self.tls_port, self.admin, self.redis_port, self.upstream = \
            testbed.free_ports(5)
        self.history = History()
        self.faults = []
        self.done = collections.Counter()
        self.samples = []
        self.latencies = []
        self.began = time.monotonic()

    def start(self):
        """Upstream, Redis, certificate, gateway and devices."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", self.upstream), Upstream)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.start_redis()
        self.mint()
        tls = (f"  - {{ bind: 127.0.0.1:{self.tls_port}, tls: {{ certificate: "
               f"{self.bed.path('tls.crt')}, key: {self.bed.path('tls.key')} }} }}")
        self.bed.configure_gateway(
            "mix", self.port, self.admin, self.upstream, listeners=tls,
            counters=f"{{ redis: redis://127.0.0.1:{self.redis_port}/0 }}")
        self.devices = []
        for number in range(DEVICES):
            device = peers.Device.__new__(peers.Device)
            device.bed, device.state = self.bed, self.bed.path(f"device-{number}.json")
            device.key_id = self.bed.output("device", [
                self.bed.lab, "device", "new", "--state", device.state, "--app",
                testbed.APP]).strip()
            self.devices.append(device)
        records = self.bed.write("records", "".join(
            device.record() + "\n" for device in self.devices))
        with open(records, encoding="utf-8") as file:
            subprocess.run(
                [self.bed.gateway, "keys", "import", "-c", self.bed.path("mix.yaml")],
                stdin=file, check=True, capture_output=True)
        self.gateway, _ = self.bed.start_gateway("mix", self.admin)

    def start_redis(self):
        """A Redis without persistence: each start has forgotten all."""
        self.redis = self.bed.start("redis", [
            "redis-server", "--port", str(self.redis_port), "--bind", "127.0.0.1",
            "--save", "", "--appendonly", "no"])

    def mint(self):
        """A new certificate in place of the one before."""
        subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-subj", "/CN=localhost", "-days", "2", "-keyout", self.bed.path("tls.key"),
            "-out", self.bed.path("tls.crt")], check=True, capture_output=True)

    # Actors

    def send(self, device, challenge, headers):
        """One signed request, or one that was sent before, under a nonce of its own."""
        nonce = f"{device.key_id[:6]}-{time.monotonic_ns()}"
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/verified", b"x", headers | {"X-Soak-Nonce": nonce},
            method="POST")
        status, began = UNKNOWN, time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                status = answer.status
                self.latencies.append((began - self.began, 1e3 * (time.monotonic() - began)))
        except urllib.error.HTTPError as error:
            status = error.code
            error.close()
        except OSError:
            pass
        self.history.add(device.key_id, challenge, nonce, status)

    def signer(self, device, rng):
        """Signs, sends, and sends again: at once, and one of long ago."""
        sent = []
        while time.monotonic() < self.end:
            try:
                with urllib.request.urlopen(
                        f"http://127.0.0.1:{self.port}/assert/challenge", timeout=10) as answer:
                    challenge = answer.read().decode()
            except OSError:
                time.sleep(0.2)
                continue
            result = subprocess.run(
                [self.bed.lab, "device", "sign", "--state", device.state, "--challenge",
                 challenge, "--body", "x", "POST", "/verified"],
                check=True, stdout=subprocess.PIPE, text=True)
            headers = dict(line.split(": ", 1) for line in result.stdout.splitlines())
            sent.append((challenge, headers))
            self.send(device, challenge, headers)
            for again in (sent[-1], rng.choice(sent)):
                self.send(device, *again)

    def curl(self, name, expected, *words):
        """Calls curl again and again; each answer must have the status and HTTP version."""
        while time.monotonic() < self.end:
            result = subprocess.run(
                ["curl", "-sk", "-o", "/dev/null", "--max-time", "20",
                 "-w", "%{http_code} %{http_version}", *words], stdout=subprocess.PIPE,
                text=True, check=False)
            self.done[name] += 1
            if result.stdout != expected:
                self.faults.append(f"{name}: {result.stdout}, curl {result.returncode}")
            time.sleep(0.05)

    def disrupt(self):
        """Reloads, certificates, and a Redis that is killed or stands still, by the seed."""
        while time.monotonic() < self.end:
            time.sleep(self.random.uniform(2, 6))
            what = self.random.choice(["reload", "certificate", "redis lost", "redis stopped"])
            self.done[what] += 1
            if what == "certificate":
                self.mint()
            if what in ("reload", "certificate"):
                self.gateway.send_signal(signal.SIGHUP)
            elif what == "redis lost":
                self.redis.kill()
                self.redis.wait()
                time.sleep(self.random.uniform(0, 1))
                self.start_redis()
            else:
                self.redis.send_signal(signal.SIGSTOP)
                time.sleep(self.random.uniform(0, 2))
                self.redis.send_signal(signal.SIGCONT)

    def watch(self):
        """Memory and descriptors of the gateway, each second."""
        while time.monotonic() < self.end and self.gateway.poll() is None:
            descriptors = len(os.listdir(f"/proc/{self.gateway.pid}/fd"))
            self.samples.append((time.monotonic() - self.began,
                                 testbed.resident_mib(self.gateway), descriptors))
            time.sleep(1)

    def run(self):
        """All actors at once, until the time is over."""
        large = self.bed.path("large")
        with open(large, "wb") as file:
            file.truncate(LARGE_BYTES)
        url, tls = f"http://127.0.0.1:{self.port}/", f"https://127.0.0.1:{self.tls_port}/"
        self.began = time.monotonic()
        self.end = self.began + SECONDS
        calls = [
            (self.curl, "HTTP/1.1", "200 1.1", url),
            (self.curl, "TLS", "200 1.1", "--http1.1", tls),
            (self.curl, "HTTP/2", "200 2", "--http2", tls),
            (self.curl, "large body", "200 1.1", "-H", "Expect:", "--data-binary", "@" + large,
             url),
            (self.disrupt,), (self.watch,),
            *((self.signer, device, random.Random(SEED + number))
              for number, device in enumerate(self.devices))]
        threads = [threading.Thread(target=self.guard, args=call) for call in calls]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def guard(self, actor, *words):
        """An actor that breaks is a fault, and no silence."""
        try:
            actor(*words)
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.faults.append(f"{actor.__name__}: {error!r}")

    # Verdict

    def verdict(self):
        """Prints what was done and what was wrong, writes the plots; 1 if anything was wrong."""
        faults = self.faults + self.history.faults(Upstream.forwarded, SIGNED_ALLOWED)
        fifth = max(1, len(self.samples) // 5)
        for index, name, bound in ((1, "MiB", GROWTH_MIB_MAX),
                                   (2, "descriptors", DESCRIPTOR_GROWTH_MAX)):
            values = [each[index] for each in self.samples]
            # The first fifth is warm-up.
            before, after = (statistics.median(part or [0]) for part in (
                values[fifth:2 * fifth], values[-fifth:]))
            print(f"      {name}: {before:.1f} in the second fifth, {after:.1f} in the last, "
                  f"at most {max(values, default=0):.1f}")
            if after - before > bound:
                faults.append(f"{name} grew by {after - before:.1f}, at most {bound}")
        if self.gateway.poll() is not None:
            faults.append(f"the gateway ended with {self.gateway.returncode}")
        counts = self.history.count()
        if not counts[200] or not counts[401]:
            faults.append("nothing was accepted, or no replay was refused")
        print("      signed and replayed:", ", ".join(
            f"{'unknown' if key is UNKNOWN else key} {counts[key]}" for key in counts))
        print("      " + ", ".join(f"{name} {count}" for name, count in self.done.items()))
        os.makedirs(REPORT, exist_ok=True)
        for name, points in (("memory-mib", [each[:2] for each in self.samples]),
                             ("descriptors", [each[::2] for each in self.samples]),
                             ("latency-ms", self.latencies)):
            plot(os.path.join(REPORT, name + ".svg"), name, points)
        for fault in faults[:50]:
            print("FAIL  " + fault, flush=True)
        print(f"{len(faults)} faults in {SECONDS} s, seed {SEED}; plots in {REPORT}")
        return 1 if faults else 0


def plot(path, name, points):
    """A dot for each point: seconds to the right, values upwards from 0."""
    top = max((value for _, value in points), default=1) or 1
    dots = "".join(f'<circle cx="{40 + 700 * at / SECONDS:.1f}" r="1" '
                   f'cy="{260 - 230 * value / top:.1f}"/>' for at, value in points)
    with open(path, "w", encoding="utf-8") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 300" '
                   'font-family="sans-serif" font-size="12"><path d="M40 30V260H740" fill="none" '
                   f'stroke="black"/><text x="40" y="20">{name}, at most {top:.1f}</text>'
                   f'<text x="650" y="280">{SECONDS} s</text>{dots}</svg>\n')


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
