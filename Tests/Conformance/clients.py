"""Clients that others wrote, and what only a client can see: Sallyport alone is judged by these."""

import asyncio
import json
import os
import re
import ssl
import struct
import subprocess
import threading
import time

import h2.config
import h2.connection
import h2.events
import websockets

from cases import case
from wire import PATIENCE, Connection, Failed, Peer, client_context

SUITE = "clients"


def command(*arguments, text=b"", status=0):
    """What a program says on both of its outputs."""
    done = subprocess.run(arguments, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=PATIENCE * 3, check=False)
    output = done.stdout.decode("latin-1")
    if status is not None and done.returncode != status:
        raise Failed(f"{arguments[0]} ended with {done.returncode}: {output[-800:]}")
    return output


# Python's h2.

class Client:
    """As its documentation has it: one connection, events in, bytes out."""

    def __init__(self, connection):
        self.connection = connection
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.waiting, self.heads, self.contents, self.ended = {}, {}, {}, set()

    def request(self, method, path, body=b"", trailers=None):
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, [
            (":method", method), (":scheme", "http"), (":authority", "conform.example"),
            (":path", path)], end_stream=not body and not trailers)
        if body or trailers:
            self.waiting[stream] = (body, trailers)
        return stream

    def send_bodies(self):
        for stream, (body, trailers) in list(self.waiting.items()):
            while body:
                size = min(self.h2.local_flow_control_window(stream),
                           self.h2.max_outbound_frame_size, len(body))
                if size <= 0:
                    break
                self.h2.send_data(stream, body[:size])
                body = body[size:]
            if body:
                self.waiting[stream] = (body, trailers)
                continue
            del self.waiting[stream]
            if trailers:
                self.h2.send_headers(stream, trailers, end_stream=True)
            else:
                self.h2.end_stream(stream)

    def run(self, streams):
        """Until these are answered."""
        while not self.ended.issuperset(streams):
            self.send_bodies()
            self.exchange()

    def exchange(self):
        """Sends what is ready, and waits for what comes."""
        self.connection.send_bytes(self.h2.data_to_send())
        piece = self.connection.receive_bytes()
        if not piece:
            raise Failed("closed")
        for event in self.h2.receive_data(piece):
            self.handle(event)

    def handle(self, event):
        if isinstance(event, h2.events.ResponseReceived):
            self.heads[event.stream_id] = dict(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            self.contents[event.stream_id] = self.contents.get(event.stream_id, b"") + event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.ended.add(event.stream_id)
        elif isinstance(event, h2.events.ConnectionTerminated) or (
                isinstance(event, h2.events.StreamReset) and event.stream_id not in self.ended):
            raise Failed(f"{event}")


@case(SUITE, "h2: sixty requests at once with bodies and trailers", False)
@case(SUITE, "h2 over TLS: sixty requests at once with bodies and trailers", True)
def multiplexed(site, is_tls):
    with site.connect(site.tls_port if is_tls else site.port, tls=is_tls,
                      alpn=["h2"]) as connection:
        client = Client(connection)
        wanted = {}
        for index in range(60):
            body = b"x" * (index * 3000)
            trailers = [("x-check", "1")] if index % 3 == 0 else None
            wanted[client.request("POST", f"/m{index}", body, trailers)] = \
                f"POST /m{index} {len(body)}\n".encode()
        client.run(wanted)
        for stream, content in wanted.items():
            if client.heads[stream][":status"] != "200" or client.contents[stream] != content:
                raise Failed(f"{client.heads[stream]} {client.contents[stream]}")


@case(SUITE, "h2: six answers of 1 MiB side by side through windows of 64 KiB")
def side_by_side(site):
    with site.connect() as connection:
        client = Client(connection)
        streams = [client.request("GET", "/large/1048576") for _ in range(6)]
        client.run(streams)
        if any(len(client.contents[stream]) != 1 << 20 for stream in streams):
            raise Failed("an answer is not whole")


@case(SUITE, "h2: padding is given back to the windows")
def padding(site):
    with site.connect() as connection:
        client = Client(connection)
        stream = client.h2.get_next_available_stream_id()
        client.h2.send_headers(stream, [
            (":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/padding")])
        for _ in range(6000):
            while client.h2.local_flow_control_window(stream) < 300:
                client.exchange()
            client.h2.send_data(stream, b"x", pad_length=255)
        client.h2.end_stream(stream)
        client.run([stream])
        if client.contents[stream] != b"POST /padding 6000\n":
            raise Failed(f"{client.contents[stream]}")


@case(SUITE, "h2: bodies that nobody wants are given back to the connection's window")
def unwanted(site):
    with site.connect() as connection:
        client = Client(connection)
        for index in range(60):
            stream = client.h2.get_next_available_stream_id()
            client.h2.send_headers(stream, [
                (":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/large"),
                ("content-length", "99999999")])
            left = 60_000
            while left:
                size = min(left, client.h2.local_flow_control_window(stream), 16384)
                if size <= 0:
                    client.exchange()
                    continue
                client.h2.send_data(stream, b"x" * size)
                left -= size
            while stream not in client.ended:
                client.exchange()
            # Every other one is given up by us; the rest is left to the server.
            if index % 2:
                client.h2.reset_stream(stream)
        wanted = client.request("POST", "/wanted", b"x" * 900_000)
        client.run([wanted])
        if client.contents[wanted] != b"POST /wanted 900000\n":
            raise Failed(f"{client.contents[wanted]}")


# curl, nghttp, h2load.

CURL = ["curl", "-sS", "-k", "--noproxy", "*", "--max-time", "60", "-w",
        "%{http_version} %{http_code}"]


@case(SUITE, "curl: HTTP/1.1", ["--http1.1"], "http", "port", "1.1 200")
@case(SUITE, "curl: prior knowledge", ["--http2-prior-knowledge"], "http", "port", "2 200")
@case(SUITE, "curl: Upgrade to h2c is not taken", ["--http2"], "http", "port", "1.1 200")
@case(SUITE, "curl: HTTP/2 over TLS", ["--http2"], "https", "tls_port", "2 200")
@case(SUITE, "curl: HTTP/1.1 over TLS", ["--http1.1"], "https", "tls_port", "1.1 200")
@case(SUITE, "curl: HTTP/1.0", ["--http1.0"], "http", "port", "1.1 200")
@case(SUITE, "curl: PROXY header, HTTP/1.1", ["--haproxy-protocol"], "http", "proxy_port",
      "1.1 200")
@case(SUITE, "curl: PROXY header, prior knowledge",
      ["--haproxy-protocol", "--http2-prior-knowledge"], "http", "proxy_port", "2 200")
@case(SUITE, "curl: PROXY header, HTTP/2 over TLS", ["--haproxy-protocol", "--http2"], "https",
      "proxy_tls_port", "2 200")
def curl(site, options, scheme, port, expected):
    url = f"{scheme}://127.0.0.1:{getattr(site, port)}/curl"
    output = command(*CURL, *options, url)
    if output != "GET /curl 0\n" + expected:
        raise Failed(output)
    output = command(*CURL, *options, "--data-binary", "@-", url, text=b"x" * 300_000)
    if output != "POST /curl 300000\n" + expected:
        raise Failed(output)


@case(SUITE, "curl: a body that is too large, HTTP/1.1", "--http1.1", "http", "port")
@case(SUITE, "curl: a body that is too large, HTTP/2", "--http2", "https", "tls_port")
def too_large(site, version, scheme, port):
    # curl before version 8 throws an answer away that RST_STREAM follows at once.
    output = command(*CURL, version, "-H", "Expect:", "--data-binary", "@-",
                     f"{scheme}://127.0.0.1:{getattr(site, port)}/curl", text=b"x" * 3_000_000)
    if not output.endswith(" 413"):
        raise Failed(output)


@case(SUITE, "nghttp: a body that is too large")
def too_large_h2(site):
    # nghttp waits to be told that nobody wants the rest.
    output = command("nghttp", "-nv", "-d", site.write("large", "x" * 3_000_000),
                     f"http://127.0.0.1:{site.port}/curl", status=None)
    if ":status: 413" not in output or "error_code=NO_ERROR" not in output:
        raise Failed(output[-800:])


@case(SUITE, "nghttp", "http", "port")
@case(SUITE, "nghttp over TLS", "https", "tls_port")
def nghttp(site, scheme, port):
    url = f"{scheme}://127.0.0.1:{getattr(site, port)}"
    output = command("nghttp", "-nvy", *(f"{url}/n{index}" for index in range(20)))
    if output.count(":status: 200") != 20:
        raise Failed(output[-800:])
    output = command("nghttp", "-y", "-d", site.write(scheme, "x" * 100_000),
                     "--trailer=x-check: 1", f"{url}/n")
    if not output.startswith("POST /n 100000"):
        raise Failed(output[-800:])


@case(SUITE, "h2load", "http", "port")
@case(SUITE, "h2load over TLS", "https", "tls_port")
def h2load(site, scheme, port):
    url = f"{scheme}://127.0.0.1:{getattr(site, port)}/load"
    output = command("h2load", "-n", "500", "-c", "5", "-m", "20", url)
    if "500 succeeded, 0 failed, 0 errored, 0 timeout" not in output:
        raise Failed(output[-800:])


# openssl s_client, and Python's ssl.

def s_client(site, *options, text=b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"):
    return command("openssl", "s_client", "-connect", f"127.0.0.1:{site.tls_port}", "-servername",
                   "localhost", "-CAfile", site.path("certificate.pem"), "-ign_eof", *options,
                   text=text, status=None)


@case(SUITE, "openssl: TLS 1.2 and 1.3 are spoken")
def versions(site):
    for option, name in (("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")):
        output = s_client(site, option)
        if "Verification: OK" not in output or f"New, {name}" not in output \
                or "HTTP/1.1 200" not in output:
            raise Failed(output[-800:])


@case(SUITE, "openssl: older versions are not", "-tls1")
@case(SUITE, "openssl: TLS 1.1 is not", "-tls1_1")
def older(site, option):
    output = s_client(site, option, "-cipher", "ALL:@SECLEVEL=0")
    if "HTTP/1.1" in output or "alert protocol version" not in output:
        raise Failed(output[-800:])


@case(SUITE, "openssl: weak ciphers are refused", "ALL:eNULL:!ECDHE:!DHE:@SECLEVEL=0")
@case(SUITE, "openssl: ciphers in CBC mode are refused", "AES128-SHA:ECDHE-ECDSA-AES128-SHA")
def weak(site, ciphers):
    output = s_client(site, "-tls1_2", "-cipher", ciphers)
    if "HTTP/1.1" in output or "handshake failure" not in output:
        raise Failed(output[-800:])


@case(SUITE, "openssl: ALPN chooses", "h2", "ALPN protocol: h2")
@case(SUITE, "openssl: ALPN chooses HTTP/1.1", "http/1.1", "ALPN protocol: http/1.1")
@case(SUITE, "openssl: the server's order counts", "http/1.1,h2", "ALPN protocol: h2")
@case(SUITE, "openssl: protocols that are not spoken", "spdy/3,smtp", "no application protocol")
def alpn(site, protocols, expected):
    output = s_client(site, "-alpn", protocols)
    if expected not in output:
        raise Failed(output[-800:])


@case(SUITE, "openssl: renegotiation is refused")
def renegotiation(site):
    with subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{site.tls_port}", "-tls1_2"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as client:
        # A line of its own, while the input stays open, is a command to it.
        client.stdin.write(b"R\n")
        client.stdin.flush()
        output = client.stdout.read().decode("latin-1")
    if "RENEGOTIATING" not in output or "no renegotiation" not in output:
        raise Failed(output[-800:])


@case(SUITE, "openssl: early data is refused, and a session resumed")
def early_data(site):
    session = site.path("session.pem")
    s_client(site, "-tls1_3", "-sess_out", session)
    request = site.write("early", "GET /early HTTP/1.1\r\nHost: a\r\n\r\n")
    output = s_client(site, "-tls1_3", "-sess_in", session, "-early_data", request)
    if "Early data was accepted" in output or "Reused, TLSv1.3" not in output:
        raise Failed(output[-800:])
    if site.upstream.seen("/early")[0]:
        raise Failed("it reached the upstream")


@case(SUITE, "TLS: a request that is cut short goes nowhere", "http/1.1")
@case(SUITE, "TLS: a request in HTTP/2 that is cut short goes nowhere", "h2")
def cut(site, protocol):
    path = "/cut-" + protocol.replace("/", "-")
    if protocol == "h2":
        peer = Peer(("127.0.0.1", site.tls_port), tls=True)
        peer.send(peer.headers(1, end=False, method="POST", path=path))
        peer.expect_ping_answer()
    else:
        peer = Connection(("127.0.0.1", site.tls_port), tls=True, alpn=[protocol])
        head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"
        peer.send_bytes(head.encode() + b"1234")
    # Without close_notify.
    os.close(peer.socket.detach())
    until = time.monotonic() + PATIENCE
    while path not in open(site.path("access.log"), encoding="utf-8").read():
        if time.monotonic() > until:
            raise Failed("not recorded")
        time.sleep(0.01)
    if site.upstream.seen(path)[0]:
        raise Failed("it reached the upstream")


@case(SUITE, "TLS: noise behind the handshake ends the connection")
def noise(site):
    with Connection(("127.0.0.1", site.tls_port), tls=True, alpn=["h2"]) as connection:
        plain = connection.socket.fileno()
        os.write(plain, b"\x17\x03\x03\x00\x20" + bytes(32))
        connection.receive_to_end()


# PROXY headers before TLS and HTTP/2.

def version2(address="192.0.2.7"):
    source = bytes(int(part) for part in address.split("."))
    return b"\r\n\r\n\0\r\nQUIT\n\x21\x11" + struct.pack(">H", 12) + source \
        + bytes([127, 0, 0, 1]) + struct.pack(">HH", 4711, 443)


@case(SUITE, "PROXY 1, then h2c", b"PROXY TCP4 192.0.2.7 127.0.0.1 4711 80\r\n", False)
@case(SUITE, "PROXY 2, then h2c", version2(), False)
@case(SUITE, "PROXY 1, then HTTP/2 over TLS", b"PROXY TCP4 192.0.2.7 127.0.0.1 1 2\r\n", True)
@case(SUITE, "PROXY 2, then HTTP/2 over TLS", version2(), True)
@case(SUITE, "PROXY 2 of LOCAL, then HTTP/2 over TLS", b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", True)
def proxied(site, before, is_tls):
    token = f"/proxied-{is_tls}-{len(before)}"
    port = site.proxy_tls_port if is_tls else site.proxy_port
    with Peer(("127.0.0.1", port), tls=is_tls, before=before) as peer:
        peer.exchange(1, path=token)
    request = site.upstream.seen(token)[0][0]
    address = b"127.0.0.1" if b"\x20\0\0\0" in before else b"192.0.2.7"
    if request.values(b"x-forwarded-for") != [address]:
        raise Failed(f"{request.fields}")


@case(SUITE, "PROXY inside TLS is no header", "proxy_tls_port")
def inside(site, port):
    context = client_context(["http/1.1"])
    with Connection(("127.0.0.1", getattr(site, port)), before=version2()) as connection:
        connection.socket = context.wrap_socket(connection.socket, server_hostname="localhost")
        connection.send_bytes(b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"
                              b"GET /inside HTTP/1.1\r\nHost: a\r\n\r\n")
        if b" 400 " not in connection.receive_to_end()[:20]:
            raise Failed("was taken")


# WebSocket over TLS.

async def echo(socket, _=None):
    async for message in socket:
        await socket.send(message)


def start_echo(port):
    """A server of its own loop and thread, which ends with the process."""
    started = threading.Event()

    async def serve():
        async with websockets.serve(echo, "127.0.0.1", port, max_size=None):
            started.set()
            await asyncio.Future()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    started.wait(PATIENCE)


@case(SUITE, "websockets over TLS: messages of every size, pings, the closing handshake")
def websocket(site):
    start_echo(site.websocket_port)

    async def talk():
        uri = f"wss://localhost:{site.tls_port}/websocket"
        context = ssl.create_default_context(cafile=site.path("certificate.pem"))
        async with websockets.connect(uri, ssl=context, max_size=None) as socket:
            for message in ("hello", b"\0\xff", "x" * 70_000, os.urandom(3 << 20)):
                await socket.send(message)
                if await socket.recv() != message:
                    raise Failed("another message came back")
            await (await socket.ping())
        return socket.close_code

    if (code := asyncio.run(talk())) != 1000:
        raise Failed(f"closed with {code}")


@case(SUITE, "the access log tells the protocol of each")
def logged(site):
    with site.peer() as peer:
        peer.exchange(1, path="/logged")
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with open(site.path("access.log"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if re.search('"/logged"', line)]
        if lines:
            if "2" not in lines[0]["version"]:
                raise Failed(f"{lines[0]}")
            return
        time.sleep(0.01)
    raise Failed("not recorded")
