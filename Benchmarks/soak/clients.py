"""Those who use the gateways of a soak: devices that sign and send again, and all the others."""

import base64
import json
import os
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import grpc
from history import UNKNOWN

TIMEOUT_SECONDS = 30
# Requests of long ago that a device may send again.
REMEMBERED = 2000
# What a device may be told: a store that is away or has forgotten everything, or an old token.
SIGNED_ALLOWED = {200, 401, 503}


def call(url, method="GET", headers=None, body=None):
    """The status of the answer, UNKNOWN without one, and its body."""
    request = urllib.request.Request(url, body, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except OSError:
        return UNKNOWN, b""


class Signer:
    """Signs, sends, and sends again: at the same time, at once, and what is long ago; each
    through any gateway, as a proxy or as the one that is asked."""

    def __init__(self, device, gateways, rng, mix):
        self.device, self.gateways, self.rng, self.mix = device, gateways, rng, mix
        self.sent = []

    def run(self):
        """Until the time is over."""
        while not self.mix.over():
            challenge = self.challenge()
            if not challenge:
                continue
            with_body = self.rng.random() < 0.3
            method, path, body = ("POST", "/body", "x") if with_body else ("GET", "/checked", None)
            self.sent.append((challenge, with_body, self.device.sign(
                challenge, method=method, path=path, body=body)))
            if self.rng.random() < 0.3:
                both = [threading.Thread(target=self.send, args=self.sent[-1]) for _ in range(2)]
                for each in both:
                    each.start()
                for each in both:
                    each.join()
            else:
                self.send(*self.sent[-1])
            for again in (self.sent[-1], self.rng.choice(self.sent)):
                self.send(*again)
            del self.sent[:-REMEMBERED]
            self.mix.rest()

    def challenge(self):
        """A fresh one; nothing after a pause where no gateway gives any."""
        status, challenge = call(self.any() + "/assert/challenge")
        if status == 200:
            return challenge.decode()
        time.sleep(0.2)
        return None

    def any(self):
        """The address of one of the gateways."""
        return f"http://127.0.0.1:{self.rng.choice(self.gateways).port}"

    def send(self, challenge, with_body, headers):
        """One signed request, new or not, under a nonce of its own."""
        began = time.monotonic()
        gateway, nonce = self.rng.choice(self.gateways), None
        if not with_body and self.rng.random() < 0.5:
            status, _ = call(f"http://127.0.0.1:{gateway.check}/check", headers=headers | {
                "X-Original-Method": "GET", "X-Original-URI": "/checked"})
            # The dialect's way to say yes.
            status = 200 if status == 204 else status
        else:
            nonce = f"{self.device.key_id[:6]}-{time.monotonic_ns()}-{threading.get_ident()}"
            path, body = ("/body", b"x") if with_body else ("/checked", None)
            status, _ = call(
                f"http://127.0.0.1:{gateway.port}{path}", "POST" if with_body else "GET",
                headers | {"X-Soak-Nonce": nonce}, body)
        self.mix.history.add(self.device.key_id, challenge, nonce, status)
        if status == 200:
            self.mix.accepted_at(began)


class TokenUser(Signer):
    """Gets a session token for an assertion, and uses it at any gateway for a while."""

    def run(self):
        """Until the time is over."""
        while not self.mix.over():
            challenge = self.challenge()
            if not challenge:
                continue
            status, text = call(self.any() + "/assert/token", "POST", self.device.sign(
                challenge, path="/assert/token", body=None), b"")
            self.mix.expect("token got", status, SIGNED_ALLOWED | {UNKNOWN})
            if status != 200:
                continue
            header = {"X-App-Attest-Token": json.loads(text)["token"]}
            for _ in range(20):
                status, _ = call(self.any() + "/tokened", headers=header)
                self.mix.expect("token used", status, SIGNED_ALLOWED | {UNKNOWN})
                self.mix.rest()


def curl(mix, name, expected, *words):
    """Calls curl again and again; each answer must have the status and HTTP version."""
    while not mix.over():
        result = subprocess.run(
            ["curl", "-sk", "-o", "/dev/null", "--max-time", str(TIMEOUT_SECONDS), "-w",
             "%{http_code} %{http_version}", *words], stdout=subprocess.PIPE, text=True,
            check=False)
        mix.expect(name, f"{result.stdout}, curl {result.returncode}", {expected + ", curl 0"})
        mix.rest()


def stream(mix, gateway):
    """Calls that stream both ways, over one channel that lives as long as the gateway lets it."""
    with grpc.insecure_channel(f"127.0.0.1:{gateway.clear_h2}") as channel:
        echo = channel.stream_stream("/soak.Echo/Stream")
        pieces = [os.urandom(size) for size in (1, 1000, 100_000)]
        while not mix.over():
            try:
                same = list(echo(iter(pieces), timeout=TIMEOUT_SECONDS)) == pieces
                mix.expect("gRPC", "same" if same else "other", {"same"})
            except grpc.RpcError as error:
                mix.expect("gRPC", f"{error.code()} {error.details()}", set())
            mix.rest()


def websocket(mix, gateway):
    """Tunnels that say something now and then. An upgrade ends them after `timeouts.upgrade`, and
    nothing else does: not before each has had its echoes."""
    while not mix.over():
        began = time.monotonic()
        try:
            with socket.create_connection(("127.0.0.1", gateway.port), TIMEOUT_SECONDS) as tunnel:
                tunnel.sendall((
                    "GET /socket HTTP/1.1\r\nHost: soak\r\nUpgrade: websocket\r\n"
                    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                    + base64.b64encode(os.urandom(16)).decode() + "\r\n\r\n").encode())
                head = b""
                while b"\r\n\r\n" not in head:
                    head += tunnel.recv(4096) or b"ended\r\n\r\n"
                what = "echoed" if b" 101 " in head.splitlines()[0] else head[:40]
                while what == "echoed" and time.monotonic() - began < 20 and not mix.over():
                    tunnel.sendall(b"hello")
                    if not tunnel.recv(4096):
                        what = "ended"
                    time.sleep(0.2)
        except OSError as error:
            what = type(error).__name__
        if what != "echoed" and gateway.may_have_upgraded_since(began):
            what = "ended by an upgrade"
        mix.expect("WebSocket", what, {"echoed", "ended by an upgrade"})
