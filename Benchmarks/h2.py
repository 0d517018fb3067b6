"""HTTP/2 in clear text and over TLS beside nginx and HAProxy, one processor each, in one run."""

import re
import shutil

import bench
import results
import testbed
import tls

CONNECTIONS = 16
STREAMS = 16
# By prior knowledge, and by ALPN.
SCHEMES = {"clear text": "http", "TLS 1.3": "https"}
LARGE_BYTES = 64 * 1024
# Of the better of nginx and HAProxy.
AIM = 1.1
PATHS = {"32 bytes": "/", "64 KiB": "/files/large"}


def start(bed):
    """All servers; of each the process and its ports in the order of ``SCHEMES``."""
    upstream, gateway, gateway_tls, admin = testbed.free_ports(4)
    nginx = testbed.free_ports(3)
    haproxy = testbed.free_ports(4)
    bed.make_file("large", LARGE_BYTES)
    bed.start_upstream(upstream, bed.load_cpu)
    tls.mint(bed, "ecdsa", ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
    files = bed.path("ecdsa.crt"), bed.path("ecdsa.key")
    both = bed.write("both.pem", "".join(open(each, encoding="utf-8").read() for each in files))
    clear = testbed.free_ports(1)[0]
    bed.configure_gateway("gateway", clear, admin, upstream, listeners=f"""
  - {{ bind: 127.0.0.1:{gateway}, protocols: [http/1.1, h2] }}
  - {{ bind: 127.0.0.1:{gateway_tls}, tls: {{ certificate: {files[0]}, key: {files[1]} }} }}
""")
    ours = bed.start_gateway("gateway", admin, bed.server_cpu)[0]
    return {
        "Sallyport": (ours, [gateway, gateway_tls]),
        "nginx": (bed.start_nginx_proxy(nginx[0], upstream, bed.server_cpu, f"""
            listen 127.0.0.1:{nginx[1]} http2;
            listen 127.0.0.1:{nginx[2]} ssl http2;
            ssl_certificate {files[0]};
            ssl_certificate_key {files[1]};
            ssl_protocols TLSv1.2 TLSv1.3;
            http2_chunk_size 16k;
        """), nginx[1:]),
        "HAProxy": (bed.start_haproxy(haproxy[0], upstream, bed.server_cpu, f"""
    bind 127.0.0.1:{haproxy[1]} proto h2
    bind 127.0.0.1:{haproxy[2]} ssl crt {both} alpn h2,http/1.1
        """), haproxy[1:3]),
    }


def load(bed, url, seconds, connections=CONNECTIONS, streams=STREAMS):
    """Requests, and requests per second; whatever is not 2xx is a failure."""
    text = bed.output("h2load", [
        "h2load", "-t1", f"-c{connections}", f"-m{streams}", f"-D{seconds}", url,
    ], bed.load_cpu)
    found = re.search(r"finished in .*?, ([\d.]+) req/s", text)
    counts = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", text)
    codes = re.search(r"status codes: (\d+) 2xx, 0 3xx, 0 4xx, 0 5xx", text)
    if not found or not counts or not codes or set(counts.groups()[1:]) != {"0"}:
        raise testbed.Failure(f"h2load {url}: {text}")
    return int(counts.group(1)), float(found.group(1))


def sample(bed, process, url):
    load(bed, url, 1)
    return bench.sample_of(process, lambda: load(bed, url, bench.ROUND_SECONDS))


def measure(bed):
    """Every round measures everything once, so that slow times of the machine hit all alike."""
    if not shutil.which("h2load"):
        raise testbed.Failure("h2load is not installed; try scripts/install.sh bench")
    facts = testbed.announce(bed)
    servers = start(bed)
    print(f"{bench.ROUNDS} rounds of {bench.ROUND_SECONDS} s; servers on processor "
          f"{bed.server_cpu}, clients and upstream on {bed.load_cpu}", flush=True)
    stolen = testbed.stolen_share()
    kinds = {f"{name}, {size}": (index, scheme, path)
             for index, (name, scheme) in enumerate(SCHEMES.items())
             for size, path in PATHS.items()}
    samples = {kind: {server: [] for server in servers} for kind in kinds}
    for number in range(bench.ROUNDS):
        for kind, (index, scheme, path) in kinds.items():
            for server in bench.turned(list(servers), number):
                process, ports = servers[server]
                url = f"{scheme}://127.0.0.1:{ports[index]}{path}"
                samples[kind][server].append(sample(bed, process, url))
    for name, each in samples.items():
        bench.table(f"HTTP/2, {name}: GET, {CONNECTIONS} connections of {STREAMS} streams",
                    ("server", "requests/s", "processor us/request", "busy"), *bench.rows(each))
        bench.compare(*(bench.ratios(f"Sallyport / {other}", each["Sallyport"], each[other], AIM)
                        for other in ("nginx", "HAProxy")))
    bench.report_noise(bed, {f"{server} ({name})": each for name, of in samples.items()
                             for server, each in of.items()}, stolen())
    groups = {kind: bench.figures(of) for kind, of in samples.items()}
    results.write(results.path("h2.json"), facts, bench.SETTINGS, groups)
    for kind, group in groups.items():
        results.draw("h2-" + results.file_name(kind), f"HTTP/2, {kind}, one processor", group,
                     ["rate", "processor"])
    return 0


if __name__ == "__main__":
    testbed.main(measure)
