"""TLS beside nginx: processor time of handshakes, memory of idle connections; prints tables."""

import os
import re
import resource
import socket
import ssl
import subprocess
import sys
import time

import bench
import idle
import results
import testbed
from bench import ROUNDS

CONNECTIONS = int(os.environ.get("CONNECTIONS", "2000"))
HANDSHAKES = int(os.environ.get("HANDSHAKES", "500"))
NEWER_CLIENT = """
import ssl, sys, tls
tls.shake_hands(tls.client(ssl.TLSVersion.TLSv1_3), *map(int, sys.argv[1:]))
"""


def mint(bed, name, arguments):
    """A certificate of its own issuer, and its key."""
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-newkey", *arguments,
         "-keyout", bed.path(name + ".key"), "-out", bed.path(name + ".crt")],
        check=True, capture_output=True)


def client(version):
    """What trusts anyone and speaks this version only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    return context


def memory(context, process, port, count):
    """KiB of resident memory for each of `count` connections."""
    def wrap(plain):
        return context.wrap_socket(plain, server_hostname="localhost")

    return idle.measure(process, port, count, wrap)[1]


def shake_hands(context, port, count, session=None):
    """Handshakes, resumed where there is a session. A hash of 384 bits, which not all servers
    prefer, would make them dearer."""
    for _ in range(count):
        plain = socket.create_connection(("127.0.0.1", port), timeout=30)
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as secure:
            if secure.session_reused != bool(session):
                raise testbed.Failure(f"port {port}: session reused: {secure.session_reused}")
            if not re.search("AES_?128.GCM.SHA256$", secure.cipher()[0]):
                raise testbed.Failure(f"port {port}: {secure.cipher()[0]}")


def shake_newer_hands(port, count):
    """The same by another Python, whose OpenSSL is 3.5 and agrees on keys by X25519MLKEM768."""
    folder = testbed.newer_openssl()
    subprocess.run(
        [sys.executable, "-B", "-c", NEWER_CLIENT, str(port), str(count)], cwd=testbed.HERE,
        env={**os.environ, "LD_LIBRARY_PATH": folder}, check=True)


def handshakes(process, count, shake):
    """Milliseconds of the server's processor for each handshake that `shake` makes."""
    before = testbed.processor_seconds(process)
    shake()
    return (testbed.processor_seconds(process) - before) * 1000 / count


def session_of(context, port):
    """What resumes: TLS 1.3 sends it behind the handshake, so an answer is awaited."""
    plain = socket.create_connection(("127.0.0.1", port), timeout=30)
    with context.wrap_socket(plain, server_hostname="localhost") as secure:
        secure.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        secure.recv(4096)
        return secure.session


def start_gateway(bed, name, key, upstream, openssl=None):
    """Sallyport and the port that speaks TLS with this key."""
    clear, port, admin = testbed.free_ports(3)
    files = f"certificate: {bed.path(key)}.crt, key: {bed.path(key)}.key"
    bed.configure_gateway(
        name, clear, admin, upstream,
        listeners=f"  - {{ bind: 127.0.0.1:{port}, tls: {{ {files} }} }}")
    return bed.start_gateway(name, admin, bed.server_cpu, openssl)[0], port


def start(bed, key, version):
    """Sallyport and nginx, each anew with a listener that speaks TLS with this key: what an earlier
    measurement had used and freed would hide what the next one needs."""
    name = f"{key}-{version.name}"
    upstream, other, nginx = testbed.free_ports(3)
    bed.start_upstream(upstream, bed.load_cpu)
    ours, gateway = start_gateway(bed, "gateway-" + name, key, upstream)
    theirs = bed.start_nginx("nginx-" + name, other, f"""
        listen 127.0.0.1:{nginx} ssl;
        ssl_certificate {bed.path(key)}.crt;
        ssl_certificate_key {bed.path(key)}.key;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_prefer_server_ciphers on;
        ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256;
        ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
        location / {{
            proxy_pass http://127.0.0.1:{upstream};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }}
    """, bed.server_cpu)
    bed.await_answer(theirs, f"http://127.0.0.1:{other}/")
    return [("Sallyport", ours, gateway), ("nginx", theirs, nginx)]


def measure(context, servers):
    """Milliseconds of each server for a full handshake and for a resumed one, a number a round.
    Each round measures each server once."""
    sessions = {name: session_of(context, port) for name, _, port in servers}
    full, resumed = ({name: [] for name, _, _ in servers} for _ in range(2))
    for number in range(ROUNDS):
        for name, process, port in bench.turned(servers, number):
            for results_of, session in ((full, None), (resumed, sessions[name])):
                results_of[name].append(handshakes(process, HANDSHAKES, lambda: shake_hands(
                    context, port, HANDSHAKES, session)))
    return full, resumed


def compare_openssl(bed):
    """Sallyport with Debian's OpenSSL and with 3.5, which the same program can load."""
    folder = testbed.newer_openssl()
    if not folder:
        print("\nOpenSSL 3.5 is missing: scripts/install.sh bench")
        return {}
    (upstream,) = testbed.free_ports(1)
    bed.start_upstream(upstream, bed.load_cpu)
    servers = [(name, *start_gateway(bed, "gateway-" + name, "ecdsa", upstream, openssl))
               for name, openssl in ((ssl.OPENSSL_VERSION.split()[1], None), ("3.5", folder))]
    context = client(ssl.TLSVersion.TLSv1_3)
    full, resumed = measure(context, servers)
    newer, process, port = servers[-1]
    hybrid = [handshakes(process, HANDSHAKES, lambda: shake_newer_hands(port, HANDSHAKES))
              for _ in range(ROUNDS)]
    bench.table(
        "Sallyport by version of OpenSSL: ECDSA, TLS 1.3",
        ("OpenSSL", "ms of processor a handshake", "resumed", "with X25519MLKEM768",
         "KiB a connection"),
        *((name, bench.median(full[name]), bench.median(resumed[name]),
           bench.median(hybrid) if name == newer else "-",
           f"{memory(context, process, port, CONNECTIONS):.1f}")
          for name, process, port in servers))
    return {"handshake_ms": full, "resumed_ms": resumed, "hybrid_ms": {newer: hybrid}}


def row(name, server, full, resumed, kib):
    return name, server, bench.median(full), bench.median(resumed), f"{kib:.1f}"


def main(bed):
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    bed.connections_max = CONNECTIONS * 2 + 1000
    mint(bed, "ecdsa", ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
    mint(bed, "rsa", ["rsa:2048"])
    facts = testbed.announce(bed)
    times, compared, groups = [], [], {}
    for key in ["ecdsa", "rsa"]:
        for version in [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]:
            name = f"{key.upper()}, {version.name}"
            context = client(version)
            servers = start(bed, key, version)
            full, resumed = measure(context, servers)
            groups[name] = {"handshake_ms": full, "resumed_ms": resumed}
            for server, process, port in servers:
                times.append(row(name, server, full[server], resumed[server],
                                 memory(context, process, port, CONNECTIONS)))
            compared.append((name, *(
                bench.median(b / a for a, b in zip(each["Sallyport"], each["nginx"]))
                for each in (full, resumed))))
    bench.table(
        f"{ROUNDS} rounds of {HANDSHAKES} handshakes; {CONNECTIONS} idle connections",
        ("key, version", "server", "ms of processor a handshake", "resumed", "KiB a connection"),
        *times)
    bench.table("Compared: nginx / Sallyport, above 1 is better",
                ("key, version", "handshake", "resumed"), *compared)
    by_openssl = compare_openssl(bed)
    if by_openssl:
        groups["OpenSSL"] = by_openssl
    results.write(results.path("tls.json"), facts,
                  {"rounds": ROUNDS, "handshakes": HANDSHAKES}, groups)


if __name__ == "__main__":
    testbed.main(main)
