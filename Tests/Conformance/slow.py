"""Clients that take their time: each must be let go while it still has more to say."""

import itertools
import os
import time

from cases import case
from wire import (
    CONTINUATION, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, PREFACE, RST_STREAM, Closed,
    Failed, Frame, Peer, block, data, ping, settings, window_update)

SUITE = "slow"
# Between two bytes: less than the server's limit, so that only a bound on the whole ends it.
PAUSE = 0.1
# The limit is one second; a busy machine may be late, a server without a bound is later.
END = 60
REQUEST = b"GET / HTTP/1.1\r\nHost: conform.example\r\n"
CLIENT_HELLO = bytes.fromhex("16030101000100 00fc0303".replace(" ", "")) + bytes(252)


def has_ended(connection, pause):
    """Whether the server has closed within this pause; what it says before is passed over."""
    until = time.monotonic() + pause
    while (left := until - time.monotonic()) > 0:
        try:
            if not connection.receive_bytes(within=left):
                return True
        except Failed:
            return False
    return False


def dribble(connection, pieces, pause=PAUSE):
    """Sends piece after piece until the server has enough."""
    until = time.monotonic() + END
    for piece in pieces:
        connection.send_bytes(piece)
        if has_ended(connection, pause):
            return
        if time.monotonic() > until:
            break
    raise Failed("still open")


def single(text):
    return [text[at:at + 1] for at in range(len(text))]


def forever(piece):
    return itertools.repeat(piece)


@case(SUITE, "nothing at all", "port", [])
@case(SUITE, "nothing but the first byte", "port", [b"G"])
@case(SUITE, "a head without its end", "port", [REQUEST])
@case(SUITE, "a head, a byte at a time", "port", forever(b"G"))
@case(SUITE, "a head, a line at a time", "port",
      itertools.chain([REQUEST], (b"X-%d: a\r\n" % index for index in itertools.count())))
@case(SUITE, "one endless value", "port", itertools.chain([REQUEST, b"X: "], forever(b"a")))
@case(SUITE, "empty lines before a request", "port", forever(b"\r\n"))
@case(SUITE, "a preface, a byte at a time", "h2_port",
      itertools.chain(single(PREFACE), forever(b"")))
@case(SUITE, "half a preface", "h2_port", [PREFACE[:10]])
@case(SUITE, "a preface without SETTINGS", "h2_port", [PREFACE])
@case(SUITE, "half a frame's header", "h2_port", [PREFACE + bytes(settings()) + b"\0\0"])
@case(SUITE, "no handshake", "tls_port", [])
@case(SUITE, "half a handshake", "tls_port", [CLIENT_HELLO[:100]])
@case(SUITE, "a handshake, a byte at a time", "tls_port",
      itertools.chain(single(CLIENT_HELLO), forever(b"")))
@case(SUITE, "no PROXY header", "proxy_port", [])
@case(SUITE, "half a PROXY header", "proxy_port", [b"PROXY TCP4 192.0.2.1"])
@case(SUITE, "a PROXY header, a byte at a time", "proxy_port",
      itertools.chain(single(b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2"), forever(b"")))
@case(SUITE, "a PROXY header of version 2 that does not come", "proxy_port",
      [b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"])
@case(SUITE, "a PROXY header of 64 KiB, a byte at a time", "proxy_port",
      itertools.chain([b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff"], forever(b"\0")))
@case(SUITE, "a head behind a PROXY header, a byte at a time", "proxy_port",
      itertools.chain([b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"], forever(b"G")))
def begun(site, port, pieces):
    with site.connect(getattr(site, port)) as connection:
        dribble(connection, itertools.chain(pieces, forever(b"")))


BODY = b"POST / HTTP/1.1\r\nHost: conform.example\r\n"


@case(SUITE, "a body that does not come", BODY + b"Content-Length: 100000\r\n\r\n", [])
@case(SUITE, "a body that stops", BODY + b"Content-Length: 100000\r\n\r\n", [b"a" * 1000])
@case(SUITE, "a body, a byte at a time", BODY + b"Content-Length: 100000\r\n\r\n", forever(b"a"))
@case(SUITE, "chunks that do not come", BODY + b"Transfer-Encoding: chunked\r\n\r\n", [])
@case(SUITE, "chunks, a byte at a time", BODY + b"Transfer-Encoding: chunked\r\n\r\n",
      forever(b"1\r\na\r\n"))
@case(SUITE, "a chunk's size, a digit at a time", BODY + b"Transfer-Encoding: chunked\r\n\r\n",
      forever(b"0"))
@case(SUITE, "an endless extension", BODY + b"Transfer-Encoding: chunked\r\n\r\n1;",
      forever(b"a"))
@case(SUITE, "an endless extension behind many chunks",
      BODY + b"Transfer-Encoding: chunked\r\n\r\n", forever(b"1;" + b"a" * 30 + b"\r\na\r\n"))
@case(SUITE, "trailers, a byte at a time", BODY + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: ",
      forever(b"a"))
@case(SUITE, "trailers, a line at a time", BODY + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
      forever(b"X: a\r\n"))
@case(SUITE, "a body that waits for 100 Continue and then forever",
      BODY + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n", [])
def bodies(site, head, pieces):
    with site.connect() as connection:
        connection.send_bytes(head)
        dribble(connection, itertools.chain(pieces, forever(b"")))


@case(SUITE, "a connection that rests", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", [])
@case(SUITE, "half a second request", b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /", [])
@case(SUITE, "a second head, a byte at a time", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      forever(b"G"))
def later(site, first, pieces):
    with site.connect() as connection:
        connection.send_bytes(first)
        connection.receive_bytes()
        dribble(connection, itertools.chain(pieces, forever(b"")))


@case(SUITE, "over TLS: nothing", None, [])
@case(SUITE, "over TLS: a head, a byte at a time", None, forever(b"G"))
@case(SUITE, "over TLS: a body that stops", BODY + b"Content-Length: 100000\r\n\r\nabc", [])
@case(SUITE, "over TLS: a body, a byte at a time", BODY + b"Content-Length: 100000\r\n\r\n",
      forever(b"a"))
def over_tls(site, first, pieces):
    with site.connect(site.tls_port, tls=True, alpn=["http/1.1"]) as connection:
        connection.send_bytes(first or b"")
        dribble(connection, itertools.chain(pieces, forever(b"")))


# HTTP/2: frames.
def h2_open(peer):
    return peer.headers(1, end=False, method="POST")


H2 = {
    "nothing": lambda peer: [],
    "half a frame": lambda peer: [bytes(peer.headers(1))[:20]],
    "a frame, a byte at a time": lambda peer: single(
        bytes(peer.headers(1, more=[("x-a", "b" * 16000)]))),
    "a header block without its end": lambda peer: [bytes(peer.headers(1, end_headers=False))],
    "trailers without their end": lambda peer: [
        bytes(h2_open(peer)), bytes(peer.headers(1, fields=[("x-a", "b")], end_headers=False))],
    "CONTINUATION of a byte at a time": lambda peer: itertools.chain(
        [bytes(Frame(HEADERS, END_STREAM, 1, block(peer.fields()) + b"\0\x7f\xff\x7f"))],
        forever(bytes(Frame(CONTINUATION, 0, 1, b"a")))),
    "CONTINUATION of nothing": lambda peer: itertools.chain(
        [bytes(peer.headers(1, end_headers=False))], forever(bytes(Frame(CONTINUATION, 0, 1)))),
    "a rest with PINGs": lambda peer: forever(bytes(ping())),
    "a rest with frames that nobody knows": lambda peer: forever(bytes(Frame(0xEE))),
}
for _name, _pieces in H2.items():
    @case(SUITE, f"HTTP/2: {_name}", _pieces)
    def frames(site, pieces):
        with site.peer() as peer:
            dribble(peer, itertools.chain(pieces(peer), forever(b"")))


def until_stream_ends(peer, pieces):
    """Sends until the stream, or the connection, is over; an answer with an error is an end."""
    until = time.monotonic() + END
    for piece in pieces:
        peer.send_bytes(piece)
        try:
            while frame := peer.receive(within=PAUSE):
                if frame.kind in (RST_STREAM, GOAWAY):
                    return
                if frame.kind == HEADERS and dict(
                        peer.decoder.decode(frame.payload))[":status"] >= "400":
                    return
        except Closed:
            return
        except Failed:
            pass
        if time.monotonic() > until:
            raise Failed("still open")


@case(SUITE, "HTTP/2: a body that does not come", [])
@case(SUITE, "HTTP/2: a body, a byte at a time", forever(bytes(data(1, b"a", False))))
@case(SUITE, "HTTP/2: a body of PINGs", forever(bytes(ping())))
@case(SUITE, "HTTP/2: a body, a byte of a frame at a time",
      itertools.chain([bytes(data(1, b"a" * 9000))[:9]], forever(b"a")))
def h2_bodies(site, pieces):
    with site.peer() as peer:
        peer.send(h2_open(peer))
        until_stream_ends(peer, itertools.chain(pieces, forever(b"")))


@case(SUITE, "HTTP/2: windows that stay shut", 0, forever(b""))
@case(SUITE, "HTTP/2: windows that stay shut, with PINGs", 0, forever(bytes(ping())))
@case(SUITE, "HTTP/2: windows of one byte that stay shut", 1, forever(b""))
def shut(site, window, pieces):
    with site.peer(first=[(INITIAL_WINDOW_SIZE, window)]) as peer:
        peer.send(*(peer.headers(stream, path="/large/1000000") for stream in range(1, 21, 2)))
        until_stream_ends(peer, pieces)


def is_held(connection, port):
    """Whether the server still has its end of a connection (proc(5), net/tcp)."""
    ours = connection.socket.getsockname()[1]
    with open("/proc/net/tcp", encoding="utf-8") as file:
        for line in file.readlines()[1:]:
            _, local, remote, state = line.split()[:4]
            if (int(local.split(":")[1], 16), int(remote.split(":")[1], 16)) == (port, ours):
                return state in ("01", "08")
    return False


def until_let_go(connection, port, step):
    until = time.monotonic() + END
    while is_held(connection, port):
        if time.monotonic() > until:
            raise Failed("still open")
        step()


@case(SUITE, "an answer that nobody reads", False)
@case(SUITE, "over TLS: an answer that nobody reads", True)
def unread(site, is_tls):
    port = site.tls_port if is_tls else site.port
    with site.connect(port, tls=is_tls, alpn=["http/1.1"], receive_buffer=4096) as connection:
        connection.send_bytes(b"GET /large/50000000 HTTP/1.1\r\nHost: a\r\n\r\n")
        until_let_go(connection, port, lambda: time.sleep(PAUSE))


@case(SUITE, "HTTP/2: an answer that nobody reads", False)
@case(SUITE, "HTTP/2 over TLS: an answer that nobody reads", True)
def h2_unread(site, is_tls):
    port = site.tls_port if is_tls else site.h2_port
    with Peer(("127.0.0.1", port), tls=is_tls, first=[(INITIAL_WINDOW_SIZE, 0x7FFFFFFF)],
              receive_buffer=4096) as peer:
        peer.send(window_update(0, 0x7FFF0000), peer.headers(1, path="/large/50000000"))
        until_let_go(peer, port, lambda: time.sleep(PAUSE))


@case(SUITE, "over TLS: half a record")
def half_record(site):
    with site.connect(site.tls_port, tls=True, alpn=["http/1.1"]) as connection:
        os.write(connection.socket.fileno(), b"\x17\x03\x03\x10\0" + bytes(100))
        connection.receive_to_end(END)


@case(SUITE, "pipelined requests whose answers nobody reads")
def pipelined(site):
    with site.connect(receive_buffer=4096) as connection:
        connection.socket.settimeout(0.2)
        request = b"GET /large/100000 HTTP/1.1\r\nHost: a\r\n\r\n" * 100

        def more():
            try:
                connection.socket.sendall(request)
            except OSError:
                time.sleep(PAUSE)
        until_let_go(connection, site.port, more)


@case(SUITE, "two hundred slow heads leave the others alone")
def many(site):
    connections = [site.connect() for _ in range(200)]
    for connection in connections:
        connection.send_bytes(REQUEST)
    try:
        for _ in range(20):
            with site.connect() as own:
                own.send_bytes(REQUEST + b"Connection: close\r\n\r\n")
                if b" 200 " not in own.receive_to_end()[:20]:
                    raise Failed("another client was not served")
        for connection in connections:
            connection.receive_to_end(END)
    finally:
        for connection in connections:
            connection.socket.close()


@case(SUITE, "over TLS: two hundred half handshakes leave the others alone")
def many_handshakes(site):
    connections = [site.connect(site.tls_port) for _ in range(200)]
    try:
        for connection in connections:
            connection.send_bytes(CLIENT_HELLO[:50])
        for _ in range(5):
            with site.connect(site.tls_port, tls=True, alpn=["http/1.1"]) as own:
                own.send_bytes(REQUEST + b"Connection: close\r\n\r\n")
                if b" 200 " not in own.receive_to_end()[:20]:
                    raise Failed("another client was not served")
        for connection in connections:
            connection.receive_to_end(END)
    finally:
        for connection in connections:
            connection.socket.close()
