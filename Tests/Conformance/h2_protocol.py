"""What RFC 9113 and RFC 7540 call errors (the order of h2spec's `http2`), by their sections."""

from cases import case
from wire import (
    ACK, COMPRESSION_ERROR, CONTINUATION, DATA, ENABLE_PUSH, END_HEADERS, END_STREAM,
    ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, PADDED, PING, PRIORITISED, PRIORITY, PROTOCOL_ERROR,
    PUSH_PROMISE, REFUSED_STREAM, RST_STREAM, SETTINGS, STREAM_CLOSED, WINDOW_UPDATE, Closed,
    Failed, Frame, block, data, goaway, literal, ping, priority, reset, settings, window_update,
    word)

SUITE = "h2"


def connection_error(name, frames, *codes):
    """A case that ends the connection; `frames` is a function of the peer."""
    @case(SUITE, name)
    def run(site):
        with site.peer() as peer:
            peer.send(*frames(peer))
            peer.expect_connection_error(*codes)


def stream_error(name, frames, *codes):
    """A case that ends a stream, or the connection."""
    @case(SUITE, name)
    def run(site):
        with site.peer() as peer:
            peer.send(*frames(peer))
            peer.expect_stream_error(*codes)


def alive(name, frames):
    """A case after which the connection goes on."""
    @case(SUITE, name)
    def run(site):
        with site.peer() as peer:
            peer.send(*frames(peer))
            peer.expect_ping_answer()


def post(peer, stream=1):
    return peer.headers(stream, end=False, method="POST")


@case(SUITE, "http2/3.5/1: the first frame of the server is SETTINGS")
def first_frame(site):
    with site.peer(handshake=False) as peer:
        peer.send_bytes(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(settings()))
        frame = peer.receive()
        if frame.kind != SETTINGS or frame.flags & ACK:
            raise Failed(f"{frame}")


@case(SUITE, "http2/3.5/2: what is no preface", b"INVALID CONNECTION PREFACE\r\n\r\n")
@case(SUITE, "a preface that breaks off", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX" + bytes(settings()))
@case(SUITE, "a preface of version 1", b"PRI * HTTP/1.1\r\n\r\nSM\r\n\r\n" + bytes(settings()))
@case(SUITE, "no SETTINGS after the preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(ping()))
def no_preface(site, text):
    with site.peer(handshake=False) as peer:
        peer.send_bytes(text)
        peer.expect_close()


# 4.1, 4.2 and 4.3: frames.
alive("http2/4.1/1: a frame of unknown kind", lambda peer: [Frame(0xFF, 0, 0, b"unknown!")])
alive("http2/4.1/2: flags that mean nothing", lambda peer: [ping(b"\0" * 8, 0x16)])
alive("http2/4.1/3: the reserved bit", lambda peer: [ping(b"\0" * 8, 0, 1 << 31)])


@case(SUITE, "http2/4.2/1: DATA of 2^14 bytes")
def largest(site):
    with site.peer() as peer:
        peer.send(post(peer), data(1, b"x" * 16384))
        peer.expect_served(1)


stream_error("http2/4.2/2: DATA beyond the frame size",
             lambda peer: [post(peer), data(1, b"x" * 16385)], FRAME_SIZE_ERROR)
connection_error(
    "http2/4.2/3: HEADERS beyond the frame size",
    lambda peer: [peer.headers(1, more=[("x-a", "b" * 6000)] * 3)], FRAME_SIZE_ERROR)
for _kind in (PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION, 0xEE):
    connection_error(
        f"a frame of kind {_kind} beyond the frame size",
        lambda peer, kind=_kind: [
            post(peer), Frame(kind, 0, 0 if kind in (SETTINGS, PING, GOAWAY) else 1,
                              bytes(16385))],
        FRAME_SIZE_ERROR, PROTOCOL_ERROR, ENHANCE_YOUR_CALM)
connection_error("http2/4.3/1: a header block that is none",
                 lambda peer: [peer.headers(1, raw=b"\x40\x01\x40")], COMPRESSION_ERROR)
for _name, _frame in {
        "4.3/2: PRIORITY": priority(1), "4.3/3: HEADERS of another stream": None,
        "6.2/1: PRIORITY": priority(1), "6.2/2: HEADERS of another stream": None,
        "6.10/2: DATA": data(1, b"x"), "5.5/2: an unknown frame": Frame(0xFF, 0, 0, b"\0" * 8),
        "4.3: PING": ping(), "4.3: SETTINGS": settings(), "4.3: WINDOW_UPDATE": window_update(0, 1),
        "4.3: RST_STREAM": reset(1), "4.3: GOAWAY": goaway(),
        "4.3: CONTINUATION of another stream": Frame(CONTINUATION, END_HEADERS, 3)}.items():
    connection_error(
        f"http2/{_name} inside a header block",
        lambda peer, frame=_frame: [
            peer.headers(1, end_headers=False), frame or peer.headers(3)], PROTOCOL_ERROR)

# 5.1: states of streams.
for _number, (_name, _frame) in enumerate({
        "DATA": data(1, b"test"), "RST_STREAM": reset(1), "WINDOW_UPDATE": window_update(1, 100),
        "CONTINUATION": Frame(CONTINUATION, END_HEADERS, 1, b"\x82")}.items(), 1):
    connection_error(f"http2/5.1/{_number}: idle: {_name}", lambda peer, frame=_frame: [frame],
                     PROTOCOL_ERROR)
stream_error("http2/5.1/5: half-closed: DATA",
             lambda peer: [peer.headers(1), data(1, b"test")], STREAM_CLOSED)
stream_error("http2/5.1/6: half-closed: HEADERS",
             lambda peer: [peer.headers(1), peer.headers(1)], STREAM_CLOSED)
connection_error(
    "http2/5.1/7: half-closed: CONTINUATION",
    lambda peer: [peer.headers(1), Frame(CONTINUATION, END_HEADERS, 1, block(peer.fields()))],
    STREAM_CLOSED, PROTOCOL_ERROR)
stream_error("http2/5.1/8: reset: DATA",
             lambda peer: [post(peer), reset(1), data(1, b"test")], STREAM_CLOSED)
stream_error("http2/5.1/9: reset: HEADERS",
             lambda peer: [post(peer), reset(1), peer.headers(1)], STREAM_CLOSED)
connection_error(
    "http2/5.1/10: reset: CONTINUATION",
    lambda peer: [post(peer), reset(1), Frame(CONTINUATION, END_HEADERS, 1, b"\x82")],
    STREAM_CLOSED, PROTOCOL_ERROR)


def after_answer(name, frame, expect, *codes):
    @case(SUITE, name)
    def run(site):
        with site.peer() as peer:
            peer.exchange(1)
            peer.send(frame(peer))
            getattr(peer, expect)(*codes)


after_answer("http2/5.1/11: closed: DATA", lambda peer: data(1, b"test"),
             "expect_stream_error", STREAM_CLOSED)
after_answer("http2/5.1/12: closed: HEADERS", lambda peer: peer.headers(1),
             "expect_connection_error", STREAM_CLOSED)
after_answer("http2/5.1/13: closed: CONTINUATION",
             lambda peer: Frame(CONTINUATION, END_HEADERS, 1, b"\x82"),
             "expect_connection_error", STREAM_CLOSED, PROTOCOL_ERROR)
connection_error("http2/5.1.1/1: an even stream", lambda peer: [peer.headers(2)], PROTOCOL_ERROR)
connection_error("http2/5.1.1/2: a stream below the last one",
                 lambda peer: [peer.headers(5), peer.headers(3)], PROTOCOL_ERROR)


@case(SUITE, "http2/5.1.2/1: more streams than were offered")
def too_many(site):
    with site.peer() as peer:
        count = peer.server_settings.get(MAX_CONCURRENT_STREAMS)
        if not count or count > 10000:
            return
        peer.send(*(post(peer, 2 * index + 1) for index in range(count + 1)))
        peer.expect_stream_error(PROTOCOL_ERROR, REFUSED_STREAM)


@case(SUITE, "the highest stream there is")
def highest(site):
    with site.peer() as peer:
        peer.exchange(0x7FFFFFFF)


@case(SUITE, "streams that are skipped are closed")
def skipped(site):
    with site.peer() as peer:
        peer.exchange(1)
        peer.exchange(101)
        peer.send(peer.headers(51))
        peer.expect_connection_error(PROTOCOL_ERROR, STREAM_CLOSED)


# 5.3 to 5.5.
stream_error(
    "http2/5.3.1/1: HEADERS that depend on themselves",
    lambda peer: [Frame(HEADERS, END_STREAM | END_HEADERS | PRIORITISED, 1,
                        word(1) + b"\xff" + block(peer.fields()))], PROTOCOL_ERROR)
stream_error("http2/5.3.1/2: PRIORITY that depends on itself",
             lambda peer: [priority(2, 2)], PROTOCOL_ERROR)


@case(SUITE, "http2/5.4.1/1: an error of the connection closes it")
def closes(site):
    with site.peer() as peer:
        peer.send(ping(stream=3))
        peer.expect_close()


@case(SUITE, "http2/5.4.1/2: an error of the connection is told by GOAWAY")
def tells(site):
    with site.peer() as peer:
        peer.send(ping(stream=3))
        try:
            while peer.receive().kind != GOAWAY:
                pass
        except Closed:
            raise Failed("closed without GOAWAY") from None


alive("http2/5.5/1: a frame of an extension", lambda peer: [Frame(0x16, 0, 0, b"\0" * 8)])
alive("an unknown frame on an idle stream", lambda peer: [Frame(0x16, 0xFF, 7, b"\0" * 8)])
alive("an unknown frame of no bytes", lambda peer: [Frame(0x16)])
alive("ORIGIN and ALTSVC from a client",
      lambda peer: [Frame(0xC, 0, 0, b"\0\1a"), Frame(0xA, 0, 0, b"\0\1ah2")])
alive("PRIORITY_UPDATE", lambda peer: [Frame(0x10, 0, 0, word(1) + b"u=1")])

# 6.1 to 6.4: DATA, HEADERS, PRIORITY, RST_STREAM.
connection_error("http2/6.1/1: DATA on stream 0", lambda peer: [data(0, b"test")], PROTOCOL_ERROR)
stream_error("http2/6.1/2: DATA on a stream that is not open",
             lambda peer: [peer.headers(1), data(1, b"test")], STREAM_CLOSED)
connection_error(
    "http2/6.1/3: DATA with more padding than bytes",
    lambda peer: [post(peer), Frame(DATA, END_STREAM | PADDED, 1, b"\xfeTest")], PROTOCOL_ERROR)
connection_error("padded DATA of no bytes",
                 lambda peer: [post(peer), Frame(DATA, END_STREAM | PADDED, 1)],
                 PROTOCOL_ERROR, FRAME_SIZE_ERROR)
connection_error("http2/6.2/3: HEADERS on stream 0", lambda peer: [peer.headers(0)],
                 PROTOCOL_ERROR)
connection_error(
    "http2/6.2/4: HEADERS with more padding than bytes",
    lambda peer: [Frame(HEADERS, END_STREAM | END_HEADERS | PADDED, 1, b"\xff\x82\x87\x84")],
    PROTOCOL_ERROR)
connection_error("HEADERS with half a priority",
                 lambda peer: [Frame(HEADERS, 0x25, 1, b"\0\0\0")], FRAME_SIZE_ERROR,
                 PROTOCOL_ERROR)
connection_error("padded HEADERS of no bytes", lambda peer: [Frame(HEADERS, 0xD, 1)],
                 FRAME_SIZE_ERROR, PROTOCOL_ERROR)
connection_error("http2/6.3/1: PRIORITY on stream 0", lambda peer: [priority(0)], PROTOCOL_ERROR)
for _length in (4, 6, 0):
    stream_error(
        f"http2/6.3/2: PRIORITY of {_length} bytes",
        lambda peer, length=_length: [post(peer), Frame(PRIORITY, 0, 1, bytes(length))],
        FRAME_SIZE_ERROR)
connection_error("http2/6.4/1: RST_STREAM on stream 0", lambda peer: [reset(0)], PROTOCOL_ERROR)
connection_error("http2/6.4/2: RST_STREAM on an idle stream", lambda peer: [reset(1)],
                 PROTOCOL_ERROR)
for _length in (3, 5, 0):
    connection_error(
        f"http2/6.4/3: RST_STREAM of {_length} bytes",
        lambda peer, length=_length: [post(peer), Frame(RST_STREAM, 0, 1, bytes(length))],
        FRAME_SIZE_ERROR)

# 6.5: SETTINGS.
connection_error("http2/6.5/1: SETTINGS with ACK and content",
                 lambda peer: [Frame(SETTINGS, ACK, 0, bytes(6))], FRAME_SIZE_ERROR)
connection_error("http2/6.5/2: SETTINGS on a stream",
                 lambda peer: [Frame(SETTINGS, 0, 1, bytes([0, 3, 0, 0, 0, 100]))],
                 PROTOCOL_ERROR)
connection_error("http2/6.5/3: SETTINGS of 3 bytes",
                 lambda peer: [Frame(SETTINGS, 0, 0, bytes(3))], FRAME_SIZE_ERROR)
connection_error("http2/6.5.2/1: ENABLE_PUSH of 2", lambda peer: [settings((ENABLE_PUSH, 2))],
                 PROTOCOL_ERROR)
connection_error("http2/6.5.2/2: a window beyond the largest",
                 lambda peer: [settings((INITIAL_WINDOW_SIZE, 1 << 31))], FLOW_CONTROL_ERROR)
connection_error("http2/6.5.2/3: a frame size below the smallest",
                 lambda peer: [settings((MAX_FRAME_SIZE, 16383))], PROTOCOL_ERROR)
connection_error("http2/6.5.2/4: a frame size beyond the largest",
                 lambda peer: [settings((MAX_FRAME_SIZE, 1 << 24))], PROTOCOL_ERROR)
connection_error("NO_RFC7540_PRIORITIES of 2", lambda peer: [settings((9, 2))], PROTOCOL_ERROR)
alive("http2/6.5.2/5: a setting that nobody knows", lambda peer: [settings((0xFF, 1))])


@case(SUITE, "http2/6.5.3/1: the last value of a setting counts")
def last_value(site):
    with site.peer() as peer:
        peer.send(settings((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)), peer.headers(1))
        peer.expect_data(1, 1)


@case(SUITE, "http2/6.5.3/2: SETTINGS are acknowledged")
def acknowledged(site):
    with site.peer() as peer:
        peer.send(settings((ENABLE_PUSH, 0)))
        peer.expect("an acknowledgement", lambda frame: frame.kind == SETTINGS and frame.flags == 1)


# 6.7 and 6.8: PING, GOAWAY.
@case(SUITE, "http2/6.7/1: PING is answered with its content")
def answered(site):
    with site.peer() as peer:
        peer.expect_ping_answer(bytes(range(8)))


@case(SUITE, "http2/6.7/2: an answer to PING is not answered")
def unanswered(site):
    with site.peer() as peer:
        peer.send(ping(b"notasked", ACK), ping(b"question"))
        frame = peer.expect("PING", lambda frame: frame.kind == PING)
        if frame.payload != b"question":
            raise Failed(f"{frame}")


connection_error("http2/6.7/3: PING on a stream", lambda peer: [ping(stream=1)], PROTOCOL_ERROR)
for _length in (6, 9, 0):
    connection_error(f"http2/6.7/4: PING of {_length} bytes",
                     lambda peer, length=_length: [ping(bytes(length))], FRAME_SIZE_ERROR)
connection_error("http2/6.8/1: GOAWAY on a stream", lambda peer: [goaway(stream=1)],
                 PROTOCOL_ERROR)
connection_error("GOAWAY of 7 bytes", lambda peer: [Frame(GOAWAY, 0, 0, bytes(7))],
                 FRAME_SIZE_ERROR)

# 6.9: WINDOW_UPDATE.
connection_error("http2/6.9/1: an increment of 0", lambda peer: [window_update(0, 0)],
                 PROTOCOL_ERROR)
stream_error("http2/6.9/2: an increment of 0 on a stream",
             lambda peer: [post(peer), window_update(1, 0)], PROTOCOL_ERROR)
for _length in (3, 5, 0):
    connection_error(f"http2/6.9/3: WINDOW_UPDATE of {_length} bytes",
                     lambda peer, length=_length: [Frame(WINDOW_UPDATE, 0, 0, bytes(length))],
                     FRAME_SIZE_ERROR)
alive("the reserved bit of an increment",
      lambda peer: [Frame(WINDOW_UPDATE, 0, 0, word(1 << 31 | 1))])
connection_error("an increment of the reserved bit alone",
                 lambda peer: [Frame(WINDOW_UPDATE, 0, 0, word(1 << 31))], PROTOCOL_ERROR)
connection_error("http2/6.9.1/2: the connection's window beyond the largest",
                 lambda peer: [window_update(0, 0x7FFFFFFF), window_update(0, 0x7FFFFFFF)],
                 FLOW_CONTROL_ERROR)
stream_error(
    "http2/6.9.1/3: a stream's window beyond the largest",
    lambda peer: [post(peer), window_update(1, 0x7FFFFFFF), window_update(1, 0x7FFFFFFF)],
    FLOW_CONTROL_ERROR)
connection_error("http2/6.9.2/3: an initial window beyond the largest",
                 lambda peer: [settings((INITIAL_WINDOW_SIZE, 1 << 31))], FLOW_CONTROL_ERROR)
connection_error(
    "a window that SETTINGS drive beyond the largest",
    lambda peer: [post(peer), window_update(1, 0x7FFFFFFF - 65535),
                  settings((INITIAL_WINDOW_SIZE, 65536))], FLOW_CONTROL_ERROR)


@case(SUITE, "http2/6.9.1/1: no more than the window allows")
def one_byte(site):
    with site.peer() as peer:
        peer.send(settings((INITIAL_WINDOW_SIZE, 1)), peer.headers(1))
        peer.expect_data(1, 1)
        peer.expect_ping_answer()


@case(SUITE, "http2/6.9.2/1: SETTINGS open the window of an open stream")
def opened(site):
    with site.peer() as peer:
        peer.send(settings((INITIAL_WINDOW_SIZE, 0)), peer.headers(1))
        peer.expect_head(1)
        peer.send(settings((INITIAL_WINDOW_SIZE, 1)))
        peer.expect_data(1, 1)


@case(SUITE, "http2/6.9.2/2: a window may be negative")
def negative(site):
    with site.peer() as peer:
        peer.send(settings((INITIAL_WINDOW_SIZE, 3)), peer.headers(1))
        peer.expect_data(1, 3)
        peer.send(settings((INITIAL_WINDOW_SIZE, 2)), window_update(1, 2))
        peer.expect_data(1, 1)


# 6.10: CONTINUATION.
@case(SUITE, "http2/6.10/1: several CONTINUATION frames")
def several(site):
    with site.peer() as peer:
        more = [literal("x-a", "b" * 100) for _ in range(2)]
        peer.send(peer.headers(1, end_headers=False), Frame(CONTINUATION, 0, 1, more[0]),
                  Frame(CONTINUATION, END_HEADERS, 1, more[1]))
        peer.expect_served(1)


connection_error(
    "http2/6.10/3: CONTINUATION on stream 0",
    lambda peer: [peer.headers(1, end_headers=False), Frame(CONTINUATION, END_HEADERS, 0)],
    PROTOCOL_ERROR)
connection_error(
    "http2/6.10/4: CONTINUATION after END_HEADERS",
    lambda peer: [post(peer), Frame(CONTINUATION, END_HEADERS, 1, literal("x-a", "b"))],
    PROTOCOL_ERROR)
connection_error(
    "http2/6.10/5: CONTINUATION after the last one",
    lambda peer: [peer.headers(1, end=False, method="POST", end_headers=False),
                  Frame(CONTINUATION, END_HEADERS, 1, literal("x-a", "b")),
                  Frame(CONTINUATION, END_HEADERS, 1, literal("x-a", "b"))], PROTOCOL_ERROR)
connection_error(
    "http2/6.10/6: CONTINUATION after DATA",
    lambda peer: [post(peer), data(1, b"test", False),
                  Frame(CONTINUATION, END_HEADERS, 1, literal("x-a", "b"))], PROTOCOL_ERROR)

# 7: error codes that nobody knows.
alive("http2/7/2: RST_STREAM with an unknown code", lambda peer: [post(peer), reset(1, 0xFF)])


@case(SUITE, "http2/7/1: GOAWAY with an unknown code")
def unknown_code(site):
    with site.peer() as peer:
        peer.send(goaway(code=0xFF))
        try:
            peer.expect_ping_answer()
        except (Closed, Failed):
            peer.expect_close()


connection_error(
    "http2/8.2/1: PUSH_PROMISE of a client",
    lambda peer: [post(peer), Frame(PUSH_PROMISE, END_HEADERS, 1,
                                    word(2) + block(peer.fields()))], PROTOCOL_ERROR)
