"""Memory under load, under a large answer, and with a million keys; exits with 1 on a failure."""

import os
import statistics
import subprocess
import time

import testbed

SECONDS = int(os.environ.get("SECONDS_OF_LOAD", "600"))
KEYS = int(os.environ.get("KEYS", "1000000"))
STREAM_MIB = int(os.environ.get("STREAM_MIB", "1024"))
SLOW_MIB_PER_SECOND = int(os.environ.get("SLOW_MIB_PER_SECOND", "64"))
# Embedded counters remember spent challenges for several times their life: memory in use, and no
# leak. With a short life its level is reached soon.
CHALLENGE_TTL = os.environ.get("CHALLENGE_TTL", "30s")

GROWTH_MIB_MAX = 20
READY_SECONDS_MAX = 2.0
CONNECTIONS = 16
DEVICES = 256
# Far more keys in use than fit in the cache, which is then made small.
CACHE_RECORDS = 2_000
DEVICES_IN_USE = 20_000
CACHE_LOAD_SECONDS = 15


class Verdicts:
    """Pass and fail lines, and whether all passed."""

    def __init__(self):
        self.failure_count = 0

    def check(self, holds, text):
        self.failure_count += 0 if holds else 1
        print(f"{'pass' if holds else 'FAIL'}  {text}", flush=True)


class Ports:
    """Where the upstream, the gateway, and its metrics are."""

    def __init__(self):
        self.upstream, self.gateway, self.admin = testbed.free_ports(3)


def watch(server, others, period):
    """Resident MiB of `server`, as (seconds, MiB), until all of `others` have ended."""
    samples = []
    began = time.monotonic()
    while any(other.poll() is None for other in others):
        if server.poll() is not None:
            raise testbed.Failure(f"{server.name} ended with {server.returncode}")
        samples.append((time.monotonic() - began, testbed.resident_mib(server)))
        time.sleep(period)
    samples.append((time.monotonic() - began, testbed.resident_mib(server)))
    return samples


def slope_per_minute(samples):
    """MiB per minute of the line that fits best."""
    if len(samples) < 3:
        return 0.0
    return 60 * statistics.linear_regression(*zip(*samples)).slope


def sustained_load(bed, ports, verdicts):
    """Plain and verified requests at once; memory must be flat after the first tenth."""
    bed.configure_gateway("load", ports.gateway, ports.admin, ports.upstream,
                          workers="auto", challenge_ttl=CHALLENGE_TTL)
    bed.import_keys("load", "load", DEVICES)
    gateway, _ = bed.start_gateway("load", ports.admin)
    print(f"\n{SECONDS} s of plain and verified load, {CONNECTIONS} connections each", flush=True)
    wrk = bed.start_wrk("wrk", ports.gateway, SECONDS, CONNECTIONS)
    load = bed.start_load("signed", ports.gateway, SECONDS, "load", DEVICES, CONNECTIONS)
    samples = watch(gateway, [wrk, load], 1)
    count, _ = bed.wrk_result(wrk)
    signed = bed.load_result(load)
    print(f"      {count} plain and {signed['requests']} verified requests, all answered 200")
    rest = [sample for sample in samples if sample[0] >= SECONDS / 10]
    values = [value for _, value in rest]
    print(f"      resident after warm-up: {min(values):.1f} to {max(values):.1f} MiB, "
          f"slope {slope_per_minute(rest):+.2f} MiB/min, in the last half "
          f"{slope_per_minute(samples[len(samples) // 2:]):+.2f}")
    growth = max(values) - values[0]
    verdicts.check(growth < GROWTH_MIB_MAX,
                   f"memory grew by {growth:.1f} MiB, at most {GROWTH_MIB_MAX}")
    bed.end(gateway)


def streaming(bed, ports, verdicts):
    """A large answer to a fast and to a slow reader must not be held in memory."""
    path = bed.make_file("large", STREAM_MIB * testbed.MIB)
    bed.configure_gateway("stream", ports.gateway, ports.admin, ports.upstream)
    gateway, _ = bed.start_gateway("stream", ports.admin)
    print(f"\n{STREAM_MIB} MiB in one answer", flush=True)
    for reader, options in (
        ("fast reader", []),
        (f"reader of {SLOW_MIB_PER_SECOND} MiB/s", ["--limit-rate", f"{SLOW_MIB_PER_SECOND}M"]),
    ):
        before = testbed.resident_mib(gateway)
        curl = bed.start("curl", [
            "curl", "--silent", "--show-error", "--fail", "--output", "/dev/null",
            "--write-out", "%{size_download} %{time_total}", *options,
            f"http://127.0.0.1:{ports.gateway}{path}",
        ], stdout=subprocess.PIPE, text=True)
        samples = watch(gateway, [curl], 0.05)
        size, seconds = bed.collect(curl).split()
        growth = max(value for _, value in samples) - before
        complete = int(size) == STREAM_MIB * testbed.MIB
        verdicts.check(complete and growth < GROWTH_MIB_MAX,
                       f"{reader}: {int(size) / testbed.MIB:.0f} MiB in {float(seconds):.1f} s, "
                       f"memory grew by {growth:.1f} MiB, at most {GROWTH_MIB_MAX}")
    bed.end(gateway)


def many_keys(bed, ports, verdicts):
    """Start-up time and memory must not depend on the number of keys."""
    print(f"\n{KEYS} keys", flush=True)
    resident = {}
    for name, count in (("few-keys", 1), ("many-keys", KEYS)):
        bed.configure_gateway(name, ports.gateway, ports.admin, ports.upstream,
                              key_cache=CACHE_RECORDS)
        began = time.monotonic()
        bed.import_keys(name, "keys", count)
        elapsed = time.monotonic() - began
        gateway, ready = bed.start_gateway(name, ports.admin)
        resident[name] = testbed.resident_mib(gateway)
        if name == "few-keys":
            bed.end(gateway)
    size = os.path.getsize(bed.path("many-keys.db")) / testbed.MIB
    print(f"      made and imported in {elapsed:.0f} s, registry {size:.0f} MiB")
    verdicts.check(ready < READY_SECONDS_MAX,
                   f"ready after {ready:.2f} s, at most {READY_SECONDS_MAX:.0f}")
    growth = resident["many-keys"] - resident["few-keys"]
    verdicts.check(growth < GROWTH_MIB_MAX,
                   f"resident {resident['many-keys']:.1f} MiB at start, {growth:+.1f} MiB "
                   f"compared with one key, at most {GROWTH_MIB_MAX}")
    devices = min(DEVICES_IN_USE, KEYS)
    load = bed.start_load("many-devices", ports.gateway, CACHE_LOAD_SECONDS, "keys", devices,
                          CONNECTIONS)
    samples = watch(gateway, [load], 0.2)
    requests = bed.load_result(load)["requests"]
    growth = max(value for _, value in samples) - resident["many-keys"]
    verdicts.check(growth < GROWTH_MIB_MAX,
                   f"{requests} requests by {devices} devices, {CACHE_RECORDS} records cached: "
                   f"memory grew by {growth:.1f} MiB, at most {GROWTH_MIB_MAX}")
    bed.end(gateway)


def measure(bed):
    testbed.announce(bed)
    verdicts = Verdicts()
    ports = Ports()
    bed.start_upstream(ports.upstream)
    streaming(bed, ports, verdicts)
    many_keys(bed, ports, verdicts)
    sustained_load(bed, ports, verdicts)
    print(f"\n{verdicts.failure_count} failed" if verdicts.failure_count else "\nAll passed")
    return 1 if verdicts.failure_count else 0


if __name__ == "__main__":
    testbed.main(measure)
