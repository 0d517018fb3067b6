"""Two gateways that share their stores, and what is done to them."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import testbed

# Ample for an upgrade on a busy machine: tunnels have timeouts.tunnel_drain, requests
# timeouts.upgrade, and the new program has to start.
UPGRADE_SECONDS_MAX = 120

CONFIGURATION = """
workers: 1
listeners:
  - bind: 127.0.0.1:{port}
  - bind: 127.0.0.1:{tls}
    protocols: [h2, http/1.1]
    tls: {{ certificate: {certificate}, key: {key} }}
  - bind: 127.0.0.1:{clear_h2}
    protocols: [h2]
  - bind: 127.0.0.1:{check}
    check: {{ dialect: nginx, from: [127.0.0.0/8] }}
apps:
  - {{ id: {app}, environments: [production] }}
registry: {{ postgres: "{registry}" }}
counters: {counters}
secrets: {{ challenge_key_file: {challenge_key} }}
upstreams:
  api: {{ servers: ["127.0.0.1:{api}"] }}
  grpc: {{ servers: ["127.0.0.1:{grpc}"], protocol: h2 }}
routes:
  - name: checked
    path: /checked
    upstream: api
    attest: {{ mode: enforce, client_data: header, challenge: required }}
  - name: body
    path: /body
    upstream: api
    attest: {{ mode: enforce, client_data: header, challenge: required }}
  - name: tokened
    path: /tokened
    upstream: api
    attest: {{ mode: enforce, accept: [assertion, token] }}
  - name: socket
    path: /socket
    upstream: api
    upgrade: [websocket]
    attest: {{ mode: off }}
  - name: grpc
    path: /soak.Echo/*
    upstream: grpc
    request_body: stream
    attest: {{ mode: off }}
  - name: plain
    path: /*
    upstream: api
    attest: {{ mode: off }}
admin: {{ bind: 127.0.0.1:{admin} }}
log: {{ access: off, events: stderr }}
"""


class Certificate:
    """A self-signed certificate that is made anew."""

    def __init__(self, bed):
        self.paths = bed.path("tls.crt"), bed.path("tls.key")
        self.mint()

    def mint(self):
        """A new certificate and key; each file is replaced as a whole."""
        new = [path + ".new" for path in self.paths]
        subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-subj", "/CN=localhost", "-days", "2", "-out", new[0], "-keyout", new[1],
        ], check=True, capture_output=True)
        for source, target in zip(new, self.paths):
            shutil.move(source, target)


class Gateway:
    """One gateway, whose wall clock is moved by a file."""

    def __init__(self, bed, name, clock_library, values):
        self.bed = bed
        self.clock_library = clock_library
        self.name = name
        self.port, self.tls, self.clear_h2, self.check, self.admin = testbed.free_ports(5)
        self.clock = bed.path(name + ".clock")
        # When the last upgrade was asked for and when its end was seen, none while it goes on.
        self.upgrade_began = self.upgrade_ended = -1
        self.log_read = 0
        bed.write(name + ".yaml", CONFIGURATION.format(**vars(self) | values))

    def start(self):
        """Starts it, and awaits that it is ready."""
        self.move_clock(0)
        self.process = self.bed.start(
            self.name, [self.bed.gateway, "run", "-c", self.bed.path(self.name + ".yaml")],
            env=os.environ | {"LD_PRELOAD": self.clock_library, "STEPPED_CLOCK": self.clock})
        self.bed.await_answer(self.process, f"http://127.0.0.1:{self.admin}/readyz")

    def move_clock(self, seconds):
        """Its wall clock leaps to so many seconds off the machine's."""
        # In place: the gateway has mapped it.
        descriptor = os.open(self.clock, os.O_WRONLY | os.O_CREAT, 0o600)
        os.pwrite(descriptor, seconds.to_bytes(8, sys.byteorder, signed=True), 0)
        os.close(descriptor)

    def reload(self):
        """Has it read its configuration and certificates again."""
        self.process.send_signal(signal.SIGHUP)

    def upgrade(self):
        """Has it hand over to its program, started anew in the same process, unless it does so
        already."""
        if self.upgrade_ended is None:
            return
        # What earlier programs have said is no answer.
        self.log_read = os.path.getsize(self.bed.path(self.name + ".log"))
        self.upgrade_began, self.upgrade_ended = time.monotonic(), None
        self.process.send_signal(signal.SIGUSR2)

    def follow_upgrade(self):
        """Notes the end of an upgrade when the next program says that it has started, and returns
        what is wrong with it, if anything."""
        if self.upgrade_ended is not None:
            return None
        with open(self.bed.path(self.name + ".log"), "rb") as log:
            log.seek(self.log_read)
            # The last line may still be written.
            lines = log.read().rpartition(b"\n")[0]
        self.log_read += len(lines)
        # The check of the next program writes there too, what it found, for people.
        events = {json.loads(line)["event"] for line in lines.splitlines()
                  if line.startswith(b"{")}
        if not events & {"started", "upgrade_failed"}:
            if time.monotonic() - self.upgrade_began < UPGRADE_SECONDS_MAX:
                return None
            events = {f"no end of an upgrade in {UPGRADE_SECONDS_MAX} s"}
        self.upgrade_ended = time.monotonic()
        return None if "started" in events else f"{self.name}: {', '.join(sorted(events))}"

    def may_have_upgraded_since(self, began):
        """Whether a connection of that time may have reached a program that an upgrade replaced."""
        ended = self.upgrade_ended
        return ended is None or began < ended


def start_pair(bed, ports, registry, counters, certificate):
    """Two of them with the same stores; `ports` are those of the API and the gRPC service."""
    challenge_key = bed.write("challenge-key", base64.b64encode(os.urandom(32)).decode() + "\n")
    os.chmod(challenge_key, 0o600)
    values = {
        "app": testbed.APP, "registry": registry, "counters": counters, "api": ports[0],
        "grpc": ports[1], "challenge_key": challenge_key, "certificate": certificate.paths[0],
        "key": certificate.paths[1]}
    clock = compile_clock(bed)
    return [Gateway(bed, name, clock, values) for name in ("gateway-a", "gateway-b")]


def compile_clock(bed):
    """The path of what moves the clock of a program that it is loaded into."""
    library = bed.path("clock.so")
    subprocess.run(["clang", "-O1", "-shared", "-fPIC", "-o", library, os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "clock.c")], check=True)
    return library
