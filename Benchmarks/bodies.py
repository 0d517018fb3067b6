"""Bodies of verified requests beside those of nginx's plain ones, both ways; prints tables."""

import subprocess

import bench
import results
import testbed
from bench import ROUND_SECONDS, ROUNDS

KIB = 1024
AIM = 0.9
OURS, NGINX = "Sallyport, verified", "nginx, plain"
DEVICES = 64

CONFIGURATION = """
workers: 1
listeners:
  - bind: 127.0.0.1:{port}
apps:
  - id: {app}
    environments: [production]
registry: {{ sqlite: {registry} }}
counters: embedded
crypto: {{ batch: off }}
upstreams:
  api: {{ servers: ["127.0.0.1:{upstream}"] }}
routes:
  - name: all
    path: /*
    upstream: api
    attest: {{ mode: enforce, client_data: header, challenge: required, replay: strict }}
admin: {{ bind: 127.0.0.1:{admin} }}
log: {{ access: off, events: stderr }}
limits: {{ body: 1GiB, requests_per_connection: 1000000000 }}
"""


class Transfer:
    """Bodies of one size and direction, and how many connections carry them."""

    def __init__(self, name, byte_count, connections, is_upload):
        self.name, self.byte_count, self.connections = name, byte_count, connections
        self.is_upload = is_upload
        self.path = "/" if is_upload else f"/files/{byte_count}"
        self.results = {}

    def options(self):
        """What the load generator is told."""
        if self.is_upload:
            return ["--method", "POST", "--body-bytes", str(self.byte_count), "--path", self.path]
        return ["--method", "GET", "--path", self.path]


TRANSFERS = [
    Transfer("64 KiB up", 64 * KIB, 16, True),
    Transfer("64 KiB down", 64 * KIB, 16, False),
    Transfer("100 MiB up", 100 * testbed.MIB, 2, True),
    Transfer("100 MiB down", 100 * testbed.MIB, 2, False),
]


class Server:
    """A process, its port, and whether its requests are signed."""

    def __init__(self, bed, process, port, is_signed):
        self.bed, self.process, self.port, self.is_signed = bed, process, port, is_signed
        self.memory_before = testbed.resident_mib(process)
        self.runs = 0

    def measure(self, connections, options):
        """One round."""
        seed = f"run-{self.runs}"
        self.runs += 1
        signed = ["--seed", seed, "--devices", str(DEVICES), "--app", testbed.APP]
        return bench.sample_of_load(self.bed.load_result(self.bed.start(
            "load", [
                self.bed.lab, "load", "--gateway", f"127.0.0.1:{self.port}", "--seconds",
                str(ROUND_SECONDS), "--connections", str(connections), "--pid",
                str(self.process.pid), *(signed if self.is_signed else []), *options,
            ], self.bed.load_cpu, stdout=subprocess.PIPE, text=True)))


def start_gateway(bed, upstream):
    """A gateway that verifies every request."""
    port, admin = testbed.free_ports(2)
    bed.write("gateway.yaml", CONFIGURATION.format(
        port=port, app=testbed.APP, registry=bed.path("gateway.db"), upstream=upstream,
        admin=admin))
    # A load generator's counters begin at 1 in each run: other devices in each.
    for number in range(ROUNDS * len(TRANSFERS)):
        bed.import_keys("gateway", f"run-{number}", DEVICES)
    return Server(bed, bed.start_gateway("gateway", admin, bed.server_cpu)[0], port, True)


def measure(bed):
    """Each round measures each server once for each kind of body."""
    facts = testbed.announce(bed)
    upstream, nginx = testbed.free_ports(2)
    bed.start_upstream(upstream, bed.load_cpu)
    for transfer in TRANSFERS:
        if not transfer.is_upload:
            bed.make_file(transfer.byte_count, transfer.byte_count)
    servers = {
        NGINX: Server(bed, bed.start_nginx_proxy(
            nginx, upstream, bed.server_cpu, "client_max_body_size 0;"), nginx, False),
        OURS: start_gateway(bed, upstream),
    }
    for number in range(ROUNDS):
        for transfer in TRANSFERS:
            for name in bench.turned(list(servers), number):
                transfer.results.setdefault(name, []).append(
                    servers[name].measure(transfer.connections, transfer.options()))
    mib = testbed.MIB
    bench.table(
        f"Bodies, {ROUNDS} rounds of {ROUND_SECONDS} s",
        ("bodies", "server", "MiB/s", "MiB a second of processor"),
        *((transfer.name, name,
           bench.median(each.rate * transfer.byte_count / mib for each in results),
           bench.median(transfer.byte_count / mib / each.microseconds * 1e6 for each in results))
          for transfer in TRANSFERS for name, results in transfer.results.items()))
    print(f"\n{OURS} / {NGINX}:")
    bench.compare(*(bench.ratios(transfer.name, transfer.results[OURS], transfer.results[NGINX],
                                 AIM) for transfer in TRANSFERS))
    print()
    for name, server in servers.items():
        print(f"{name}: {server.memory_before:.1f} MiB before, at most "
              f"{testbed.resident_mib_max(server.process):.1f} meanwhile")
    groups = {transfer.name: bench.figures(transfer.results) for transfer in TRANSFERS}
    results.write(results.path("bodies.json"), facts, bench.SETTINGS, groups)
    for name, group in groups.items():
        results.draw("bodies-" + results.file_name(name), f"Bodies of {name}, one processor", group,
                     ["rate", "processor"])
    return 0


if __name__ == "__main__":
    testbed.main(measure)
