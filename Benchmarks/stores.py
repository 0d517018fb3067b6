"""What Redis and PostgreSQL spend on devices and requests: the constants of fleet.py; a table."""

import base64
import glob
import os
import shutil
import subprocess
import time

import testbed

KEYS = int(os.environ.get("KEYS", "100000"))
DEVICES, CONNECTIONS, SECONDS = 2000, 32, 4
START_SECONDS = 30
# Floors that a gateway raises in one transaction, and clients that each stand for one gateway.
FLOORS_A_COMMIT, GATEWAYS = 64, 4
RAISE = r"""\set id random(1, :keys)
UPDATE sallyport.keys SET counter = counter + 1
WHERE key_id = (SELECT key_id FROM numbered WHERE id = :id);
"""
ENROL = r"""\set id random(1, 9223372036854775807)
INSERT INTO enrolled (key_id, public_key, receipt)
VALUES (sha256(:id::text::bytea), decode(repeat('04', 65), 'hex'),
    decode(repeat('5a', 4096), 'hex'));
"""


class Postgres:
    """A PostgreSQL of this machine's packages on a free port, with fsync."""

    def __init__(self, bed):
        self.bed = bed
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.port, = testbed.free_ports(1)
        self.folder = bed.path("postgres")
        os.mkdir(self.folder)
        # It refuses to run as root.
        self.prefix = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
            os.chmod(bed.folder, 0o711)
            self.prefix = ["runuser", "-u", "postgres", "--"]
        self.call("initdb", "-D", self.folder, "-A", "trust", "-U", "bench")
        self.url = f"postgresql://bench@127.0.0.1:{self.port}/postgres"
        self.start()

    def start(self):
        """Starts the server and awaits its first answer."""
        self.process = self.bed.start("postgres", [
            *self.prefix, os.path.join(self.programs, "postgres"), "-D", self.folder, "-p",
            str(self.port), "-h", "127.0.0.1", "-k", self.folder, "-c", "shared_buffers=512MB"])
        deadline = time.monotonic() + START_SECONDS
        while self.ask("SELECT 1") != "1":
            if time.monotonic() > deadline:
                raise testbed.Failure(
                    f"PostgreSQL does not answer: {self.bed.log('postgres')}")
            time.sleep(0.05)

    def call(self, program, *arguments):
        done = subprocess.run(
            [*self.prefix, os.path.join(self.programs, program), *arguments],
            capture_output=True, text=True, cwd="/", check=False)
        return done.stdout.strip()

    def ask(self, statement):
        return self.call(
            "psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "bench", "-Atc", statement,
            "postgres")

    def rate(self, script, *options):
        """Transactions a second of a script."""
        path = self.bed.write("script.sql", script)
        text = self.call(
            "pgbench", "-h", "127.0.0.1", "-p", str(self.port), "-U", "bench", "-n", "-M",
            "prepared", "-T", str(SECONDS), "-f", path, *options, "postgres")
        line = next(line for line in text.splitlines() if line.startswith("tps"))
        return float(line.split()[2])


def info(port, section):
    text = subprocess.run(
        ["redis-cli", "-p", str(port), "INFO", section], capture_output=True, text=True,
        check=True).stdout
    return dict(line.split(":", 1) for line in text.split() if ":" in line)


def measure_redis(bed):
    upstream, port, admin, redis = testbed.free_ports(4)
    bed.start_upstream(upstream, bed.load_cpu)
    bed.start("redis", [
        "redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", "",
        "--appendonly", "no"], bed.load_cpu)
    bed.configure_gateway(
        "gateway", port, admin, upstream, f"{{ redis: redis://127.0.0.1:{redis}/0 }}")
    bed.import_keys("gateway", "a", DEVICES)
    bed.start_gateway("gateway", admin, bed.server_cpu)

    def busy():
        cpu = info(redis, "cpu")
        return float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"])

    before, memory = busy(), int(info(redis, "memory")["used_memory"])
    result = bed.load_result(bed.start_load(
        "load", port, SECONDS, "a", DEVICES, CONNECTIONS, bed.load_cpu))
    calls = info(redis, "commandstats")["cmdstat_evalsha"].split(",")
    script = {name: float(value) for name, value in (part.split("=") for part in calls)}
    used = busy() - before
    grown = int(info(redis, "memory")["used_memory"]) - memory
    yield "Redis: processor a verified request, us", used * 1e6 / script["calls"]
    yield "Redis: of it in the script, us", script["usec_per_call"]
    yield "Redis: bytes a request with its challenge and device", grown / script["calls"]
    assert result


def challenge_key(bed):
    """The setting that a gateway without a file of its own needs."""
    key = bed.write("challenge-keys", base64.b64encode(os.urandom(32)).decode() + "\n")
    os.chmod(key, 0o600)
    return f"secrets: {{ challenge_key_file: {key} }}"


def measure_postgres(bed):
    postgres = Postgres(bed)
    upstream, port, admin = testbed.free_ports(3)
    bed.configure_gateway(
        "registry", port, admin, upstream, registry=f"postgres: {postgres.url}",
        more=challenge_key(bed))
    bed.import_keys("registry", "b", KEYS)
    postgres.ask("CREATE TABLE numbered AS SELECT row_number() OVER () AS id, key_id "
                 "FROM sallyport.keys")
    postgres.ask("ALTER TABLE numbered ADD PRIMARY KEY (id)")
    postgres.ask("CREATE TABLE enrolled (LIKE sallyport.keys INCLUDING STORAGE)")
    postgres.ask("ALTER TABLE enrolled ADD PRIMARY KEY (key_id)")
    columns = postgres.ask(
        "SELECT string_agg(format('ALTER %I DROP NOT NULL', column_name), ', ') FROM "
        "information_schema.columns WHERE table_name = 'enrolled' AND is_nullable = 'NO' "
        "AND column_name <> 'key_id'")
    if columns:
        postgres.ask("ALTER TABLE enrolled " + columns)
    postgres.ask("VACUUM ANALYZE")
    size = float(postgres.ask("SELECT pg_total_relation_size('sallyport.keys')"))
    yield "PostgreSQL: bytes a key without its receipt", size / KEYS
    yield (f"PostgreSQL: enrolments a second, {GATEWAYS} connections",
           postgres.rate(ENROL, "-c", str(GATEWAYS), "-j", "1"))
    floors = RAISE * FLOORS_A_COMMIT
    batch = "\\startpipeline\n" + "BEGIN;\n" + floors + "COMMIT;\n" + "\\endpipeline\n"
    commits = postgres.rate(batch, "-c", str(GATEWAYS), "-j", "1", "-D", f"keys={KEYS}")
    yield f"PostgreSQL: floors raised a second, {GATEWAYS} connections", commits * FLOORS_A_COMMIT


def main(bed):
    testbed.announce(bed)
    print("\n| what | measured |\n| --- | --- |")
    for measure in (measure_redis, measure_postgres):
        for what, value in measure(bed):
            print(f"| {what} | {value:,.0f} |", flush=True)


if __name__ == "__main__":
    testbed.main(main)
