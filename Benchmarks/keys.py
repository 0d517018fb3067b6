"""A registry of ten million keys beside one of a million in each store, and as many devices in
Redis; tables and ratios."""

import base64
import glob
import hashlib
import itertools
import json
import os
import sqlite3
import statistics
import subprocess
import time
import urllib.request

import bench
import stores
import testbed

KEYS = int(os.environ.get("KEYS", "10000000"))
SIZES = {"few": KEYS // 10, "many": KEYS}
STORES = os.environ.get("STORES", "sqlite postgresql redis").split()
ROUNDS = int(os.environ.get("ROUNDS", "5"))
ROUND_SECONDS = int(os.environ.get("ROUND_SECONDS", "3"))
CONNECTIONS = 32
# Devices take turns, so that with a small cache each request looks its key up in the registry.
DEVICES = {"warm": 1000, "cold": 8000}
CACHE_RECORDS = {"warm": 100_000, "cold": 1000}
# A gateway counts its keys once when it starts. That is over before anything is measured.
COUNT_SECONDS_MAX = 600
COMMAND_RUNS = 3
SEED = "keys"
PAGE = "500"
# PostgreSQL makes all keys but these itself, in minutes instead of an hour.
IMPORTED_KEYS = 100_000
FILL_POSTGRES = """
INSERT INTO {0}.keys (key_id, public_key, app_id, environment, status, counter, enrolled_at)
SELECT sha256(('{0}' || number)::bytea), decode(repeat('5a', 64), 'hex'), '{1}', 0, 0, 0, 0
FROM generate_series(1, {2}) AS number
"""
# The state that a device has in Redis, for as many others: a call of the script is short, as Redis
# does nothing else meanwhile.
REDIS_STATES_A_CALL = 50_000
COPY_STATES = """
local state, life = redis.call('DUMP', KEYS[1]), redis.call('PTTL', KEYS[1])
for number = ARGV[1], ARGV[2] do
    local name = 'sallyport:{' .. string.format('%043d', number) .. '}:counter'
    redis.call('RESTORE', name, life, state)
end
"""


def write_keys(bed):
    """Files of keys in the order in which `keys export` writes them, for each size and for
    PostgreSQL. Returns the ids of the keys that devices of the load have. The others need no
    point of the curve."""
    lines = bed.output("seed", [
        bed.lab, "seed", "--count", str(DEVICES["cold"]), "--seed", SEED, "--app", testbed.APP,
    ]).splitlines()
    points = [base64.b64decode(json.loads(line)["public_key"]) for line in lines]
    for size, count in {**SIZES, "last": IMPORTED_KEYS}.items():
        others = (b"\4" + os.urandom(64) for _ in range(count - len(points)))
        keys = [hashlib.sha256(point).digest() + point for point in itertools.chain(points, others)]
        keys.sort()
        with open(bed.path(f"{size}.jsonl"), "w", encoding="ascii") as file:
            file.writelines(key_line(key[:32], key[32:]) for key in keys)
    return [json.loads(line)["key_id"] for line in lines]


def key_line(key_id, point):
    return (f'{{"key_id":"{base64.b64encode(key_id).decode()}",'
            f'"public_key":"{base64.b64encode(point).decode()}","app_id":"{testbed.APP}",'
            '"environment":"production","counter":0}\n')


class SQLite:
    """Two registry files."""
    name = "SQLite"

    def __init__(self, bed):
        self.bed = bed

    def setting(self, size):
        return f"sqlite: {self.path(size)}"

    def path(self, size):
        return self.bed.path(f"registry-{size}.db")

    def imports(self, size):
        """The file of keys to import, and how many they are."""
        return f"{size}.jsonl", SIZES[size]

    def complete(self, size):
        connection = sqlite3.connect(self.path(size))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()

    def byte_count(self, size):
        return os.path.getsize(self.path(size))

    def seconds(self):
        """SQLite works in the gateway's own threads."""
        return 0.0


class Postgres:
    """Two schemas of one PostgreSQL."""
    name = "PostgreSQL"

    def __init__(self, bed):
        self.bed = bed
        self.server = stores.Postgres(bed)

    def setting(self, size):
        return f"postgres: {self.server.url}, schema: {size}"

    def imports(self, size):
        command(self.bed, size, "keys", "import", os.devnull)
        self.server.ask(FILL_POSTGRES.format(size, testbed.APP, SIZES[size] - IMPORTED_KEYS))
        return "last.jsonl", IMPORTED_KEYS

    def complete(self, size):
        self.server.ask("VACUUM ANALYZE")

    def byte_count(self, size):
        return int(self.server.ask(
            f"SELECT sum(pg_total_relation_size(oid)) FROM pg_class "
            f"WHERE relnamespace = '{size}'::regnamespace AND relkind = 'r'"))

    def seconds(self):
        """Processor time of all processes of the server that run."""
        with open(os.path.join(self.server.folder, "postmaster.pid"), encoding="utf-8") as file:
            leader = file.readline().strip()
        children = glob.glob(f"/proc/{leader}/task/*/children")
        seconds = 0.0
        for path in children:
            with open(path, encoding="utf-8") as file:
                for child in file.read().split():
                    seconds += testbed.processor_seconds_of(child)
        return seconds


class Redis:
    """Two servers for the counters of two gateways, whose registries have the devices of the load
    and no others."""
    name = "Redis"

    def __init__(self, bed):
        self.bed = bed
        self.ports = dict(zip(SIZES, testbed.free_ports(len(SIZES))))
        self.servers = {
            size: bed.start(f"redis-{size}", [
                "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                "--appendonly", "no"], bed.load_cpu)
            for size, port in self.ports.items()}
        self.counters = {size: f"{{ redis: redis://127.0.0.1:{port}/0 }}"
                         for size, port in self.ports.items()}

    def setting(self, size):
        return f"sqlite: {self.bed.path(f'registry-redis-{size}.db')}"

    def ask(self, size, *words):
        return self.bed.output("redis-cli", ["redis-cli", "-p", str(self.ports[size]), *words])

    def byte_count(self, size):
        return int(stores.info(self.ports[size], "memory")["used_memory"])

    def fill(self, size):
        """Copies one device's state for as many others. Returns bytes a device."""
        names = self.ask(size, "KEYS", "*:counter").split()
        before = self.byte_count(size)
        for first in range(0, SIZES[size], REDIS_STATES_A_CALL):
            last = min(first + REDIS_STATES_A_CALL, SIZES[size]) - 1
            self.ask(size, "EVAL", COPY_STATES, "1", names[0], str(first), str(last))
        count = int(self.ask(size, "DBSIZE"))
        if count < SIZES[size]:
            raise testbed.Failure(f"Redis has {count} names instead of {SIZES[size]}")
        return (self.byte_count(size) - before) / SIZES[size]

    def seconds(self):
        """Processor time of both, of which one has something to do."""
        return sum(map(testbed.processor_seconds, self.servers.values()))


class Fleet:
    """Gateways that differ in the number of their keys alone."""

    # Each load begins above the counters of those before. The first one leaves states without a
    # gap in Redis, as apps do.
    first_counters = {size: itertools.count(0, 1_000_000) for size in SIZES}

    def __init__(self, bed, store, upstream, temperature, counters=None):
        self.bed, self.store, self.temperature = bed, store, temperature
        self.gateways, self.ports, self.admins, self.ready = {}, {}, {}, {}
        for size in SIZES:
            self.ports[size], self.admins[size] = testbed.free_ports(2)
            configure(bed, store, size, self.ports[size], self.admins[size], upstream,
                      CACHE_RECORDS[temperature], (counters or {}).get(size, "embedded"))
        for size in SIZES:
            self.gateways[size], self.ready[size] = bed.start_gateway(
                size, self.admins[size], bed.server_cpu)
        for size in SIZES:
            self.await_count(size)

    def await_count(self, size):
        deadline = time.monotonic() + COUNT_SECONDS_MAX
        while "\nsallyport_registry_keys{" not in self.get(size, "/metrics"):
            if time.monotonic() > deadline:
                raise testbed.Failure(f"the keys are not counted: {self.bed.log(size)}")
            time.sleep(0.1)

    def get(self, size, path):
        url = f"http://127.0.0.1:{self.admins[size]}{path}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read().decode()

    def load(self, size):
        """Processor time of the gateway and of the store, in microseconds a request."""
        before = self.store.seconds()
        result = self.bed.load_result(self.bed.start_load(
            "load", self.ports[size], ROUND_SECONDS, SEED, DEVICES[self.temperature], CONNECTIONS,
            self.bed.load_cpu, self.gateways[size],
            more=["--first-counter", str(next(self.first_counters[size]))]))
        # The load generator counts from the second second on.
        requests = result["requests_per_second"] * (ROUND_SECONDS + 1)
        return (result["server_cpu_us_per_request"],
                (self.store.seconds() - before) * 1e6 / requests)

    def resident(self, size):
        return testbed.resident_mib(self.gateways[size])

    def end(self):
        for process in self.gateways.values():
            self.bed.end(process)


def configure(bed, store, size, port, admin, upstream, cache=1000, counters="embedded"):
    bed.configure_gateway(
        size, port, admin, upstream, registry=store.setting(size), key_cache=cache,
        counters=counters, more=stores.challenge_key(bed))


def command(bed, size, *words):
    """Runs a command of the gateway with the configuration of this size; returns the seconds.
    Nobody keeps what it prints, which may be gigabytes."""
    began = time.monotonic()
    process = bed.start("command", [bed.gateway, *words, "-c", bed.path(f"{size}.yaml")],
                        stdout=subprocess.DEVNULL)
    code = process.wait()
    bed.end(process)
    if code != 0:
        raise testbed.Failure(f"{' '.join(words)}: {bed.log('command')}")
    return time.monotonic() - began


def compared(measure):
    """Median seconds for both sizes. They take turns."""
    seconds = {size: [] for size in SIZES}
    for number in range(COMMAND_RUNS):
        for size in SIZES:
            seconds[size].append(measure(size, number))
    return [statistics.median(each) for each in seconds.values()]


def make(bed, store, upstream):
    """Imports the keys; rows of rates and sizes."""
    rates, byte_counts = [], []
    for size, count in SIZES.items():
        configure(bed, store, size, *testbed.free_ports(2), upstream)
        file, imported = store.imports(size)
        rates.append(imported / command(bed, size, "keys", "import", bed.path(file)))
        store.complete(size)
        byte_counts.append(store.byte_count(size) / count)
    yield "imported a second", *rates
    yield "bytes a key on disk", *byte_counts


def operate(bed, fleet, ids):
    """Seconds of what an operator does while the gateways run."""
    def timed(*words):
        return compared(lambda size, _: command(bed, size, *words))

    def each_key(action, first):
        return compared(lambda size, number: command(bed, size, "keys", action,
                                                     ids[first + number]))

    def fetched(path):
        def fetch(size, _):
            began = time.monotonic()
            fleet.get(size, path)
            return time.monotonic() - began
        return compared(fetch)

    middle = "gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    yield "keys show", *each_key("show", 1000)
    yield "keys revoke", *each_key("revoke", 1010)
    yield "keys erase", *each_key("erase", 1020)
    yield f"keys list, a page of {PAGE}", *timed("keys", "list", "--limit", PAGE)
    yield "the same from the middle", *timed("keys", "list", "--limit", PAGE, "--after", middle)
    yield "the same, revoked keys", *timed("keys", "list", "--limit", PAGE, "--status", "revoked")
    yield "audit", *timed("audit")
    yield "status page", *fetched("/")
    yield "metrics", *fetched("/metrics")
    yield "doctor, which reads all of SQLite", *timed("doctor")
    export = [command(bed, size, "keys", "export") for size in SIZES]
    yield "keys export, all", *export


def serve(fleet):
    """Loads the gateways in turns; microseconds of each round."""
    samples = {size: [] for size in SIZES}
    for number in range(ROUNDS):
        # Another one begins each time.
        for size in list(SIZES)[::1 if number % 2 else -1]:
            samples[size].append(fleet.load(size))
    return samples


def row(what, samples, index=0):
    """Both medians, and the median of the rounds' ratios."""
    values = [[sample[index] for sample in samples[size]] for size in SIZES]
    ratios = [many / few for few, many in zip(*values)]
    return (what, *(bench.median(each) for each in values), bench.median(ratios))


def plain(what, few, many, digits=0):
    return what, f"{few:,.{digits}f}", f"{many:,.{digits}f}", f"{many / few:.2f}"


def measure_store(bed, store, upstream, ids):
    header = ("", f"{SIZES['few']:,} keys", f"{SIZES['many']:,} keys", "ratio")
    rows = [plain(*each) for each in make(bed, store, upstream)]
    loads = []
    for temperature, words in (("warm", "of a cached key"), ("cold", "of a key that is not")):
        fleet = Fleet(bed, store, upstream, temperature)
        resident = [fleet.resident(size) for size in SIZES]
        samples = serve(fleet)
        if temperature == "cold":
            rows.append(plain("start to ready, s", *fleet.ready.values(), 3))
            rows.append(plain("resident once counted, MiB", *resident, 1))
            rows.append(plain("resident after load, MiB",
                              *(fleet.resident(size) for size in SIZES), 1))
            operations = [plain(*each, 3) for each in operate(bed, fleet, ids)]
        loads.append(row(f"request {words}, us", samples))
        if any(sample[1] for sample in samples["many"]):
            loads.append(row("beside that in the server, us", samples, 1))
        fleet.end()
    bench.table(f"{store.name}: the registry", header, *rows)
    bench.table(f"{store.name}: processor time of a verified request", header, *loads)
    bench.table(f"{store.name}: what an operator waits for, s", header, *operations)


def measure_counters(bed, upstream):
    """What a request costs beside the states of so many devices."""
    redis = Redis(bed)
    for size in SIZES:
        configure(bed, redis, size, *testbed.free_ports(2), upstream)
        bed.import_keys(size, SEED, DEVICES["warm"])
    fleet = Fleet(bed, redis, upstream, "warm", redis.counters)
    for size in SIZES:
        fleet.load(size)
    byte_counts = [redis.fill(size) for size in SIZES]
    samples = serve(fleet)
    fleet.end()
    bench.table(
        "Redis: counters", ("", *(f"{count:,} devices" for count in SIZES.values()), "ratio"),
        plain("bytes a device", *byte_counts),
        row("verified request, us", samples), row("beside that in Redis, us", samples, 1))


def main(bed):
    testbed.announce(bed)
    (upstream,) = testbed.free_ports(1)
    bed.start_upstream(upstream, bed.load_cpu)
    if "redis" in STORES:
        measure_counters(bed, upstream)
        print(flush=True)
    registries = [each for each in (SQLite, Postgres) if each.name.lower() in STORES]
    ids = write_keys(bed) if registries else []
    for store in registries:
        measure_store(bed, store(bed), upstream, ids)
        print(flush=True)


if __name__ == "__main__":
    testbed.main(main)
