"""What every HTTP/2 server does with what is right (the order of h2spec's `generic`)."""

import hpack

from cases import case
from wire import (
    CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, HEADER_TABLE_SIZE,
    INITIAL_WINDOW_SIZE, PADDED, PRIORITISED, SETTINGS, Closed, Failed, Frame, block, data, goaway,
    integer, ping, priority, reset, settings, window_update, word)

SUITE = "h2"


@case(SUITE, "generic/1/1: a connection preface")
def preface(site):
    with site.peer(handshake=False) as peer:
        peer.handshake()


@case(SUITE, "generic/2/1: PRIORITY on an idle stream", priority(1))
def idle(site, frame):
    with site.peer() as peer:
        peer.send(frame)
        peer.expect_ping_answer()


@case(SUITE, "generic/2/2: WINDOW_UPDATE on a half-closed stream", window_update(1, 100))
@case(SUITE, "generic/2/3: PRIORITY on a half-closed stream", priority(1))
def half_closed(site, frame):
    with site.peer() as peer:
        peer.send(peer.headers(1), frame)
        peer.expect_served(1)


@case(SUITE, "generic/2/4: RST_STREAM on a half-closed stream")
def half_closed_reset(site):
    with site.peer() as peer:
        peer.send(peer.headers(1), reset(1, CANCEL))
        peer.expect_ping_answer()


@case(SUITE, "generic/2/5: PRIORITY on a closed stream", priority(1))
@case(SUITE, "closed: WINDOW_UPDATE that was under way", window_update(1, 1))
@case(SUITE, "closed: RST_STREAM that was under way", reset(1))
def closed(site, frame):
    with site.peer() as peer:
        peer.exchange(1)
        peer.send(frame)
        peer.expect_ping_answer()
        peer.exchange(3)


@case(SUITE, "generic/3.1/1: DATA", [(b"test", True)])
@case(SUITE, "generic/3.1/2: several DATA", [(b"test", False), (b"test", True)])
@case(SUITE, "DATA of nothing that ends the stream", [(b"test", False), (b"", True)])
@case(SUITE, "an empty body", [(b"", True)])
def bodies(site, parts):
    with site.peer() as peer:
        peer.send(peer.headers(1, end=False, method="POST"),
                  *(data(1, part, end) for part, end in parts))
        _, content, _ = peer.answer(1)
        length = sum(len(part) for part, _ in parts)
        if site.echoes and f" {length}\n".encode() not in content:
            raise Failed(f"{content!r} does not tell of {length} bytes")


@case(SUITE, "generic/3.1/3: DATA with padding", bytes([6]) + b"test" + bytes(6))
@case(SUITE, "DATA of padding alone, and its length", bytes([3]) + bytes(3))
def padded_data(site, payload):
    with site.peer() as peer:
        peer.send(peer.headers(1, end=False, method="POST"),
                  Frame(DATA, END_STREAM | PADDED, 1, payload))
        peer.expect_served(1)


@case(SUITE, "generic/3.2/1: HEADERS", 0, b"", b"")
@case(SUITE, "generic/3.2/2: HEADERS with padding", PADDED, bytes([6]), bytes(6))
@case(SUITE, "generic/3.2/3: HEADERS with priority", PRIORITISED, word(0) + bytes([255]), b"")
@case(SUITE, "HEADERS with an exclusive dependency", PRIORITISED, word(1 << 31) + b"\x05", b"")
@case(SUITE, "HEADERS with padding and priority", PADDED | PRIORITISED,
      bytes([4]) + word(0) + bytes([1]), bytes(4))
@case(SUITE, "HEADERS with padding of no bytes", PADDED, bytes([0]), b"")
def headers(site, flags, before, after):
    with site.peer() as peer:
        payload = before + block(peer.fields()) + after
        peer.send(Frame(HEADERS, END_STREAM | END_HEADERS | flags, 1, payload))
        peer.expect_served(1)


@case(SUITE, "generic/3.3/1: PRIORITY of weight 1", priority(1, 0, 0))
@case(SUITE, "generic/3.3/2: PRIORITY of weight 256", priority(1, 0, 255))
@case(SUITE, "generic/3.3/3: PRIORITY with a dependency", priority(3, 1))
@case(SUITE, "generic/3.3/4: PRIORITY that is exclusive", priority(3, 1, exclusive=True))
@case(SUITE, "generic/3.3/5: PRIORITY of a later stream, then an earlier one", priority(7, 0))
def priorities(site, frame):
    with site.peer() as peer:
        peer.send(frame)
        peer.exchange(1)


@case(SUITE, "generic/3.4/1: RST_STREAM")
def resets(site):
    with site.peer() as peer:
        peer.send(peer.headers(1, end=False, method="POST"), reset(1))
        peer.expect_ping_answer()
        peer.exchange(3)


@case(SUITE, "generic/3.5/1: SETTINGS")
def some_settings(site):
    with site.peer() as peer:
        peer.send(settings((3, 50), (4, 70000), (5, 20000), (6, 5000)))
        peer.expect("an acknowledgement", lambda frame: frame.kind == SETTINGS and frame.flags & 1)


@case(SUITE, "generic/3.7/1: PING")
def pings(site):
    with site.peer() as peer:
        peer.expect_ping_answer(b"h2spec\0\0")


@case(SUITE, "generic/3.8/1: GOAWAY")
def goaways(site):
    with site.peer() as peer:
        peer.send(goaway(), ping())
        try:
            peer.expect_ping_answer()
        except (Closed, Failed):
            peer.expect_close()


@case(SUITE, "generic/3.9/1: WINDOW_UPDATE of the connection", 0)
@case(SUITE, "generic/3.9/2: WINDOW_UPDATE of a stream", 1)
def windows(site, stream):
    with site.peer() as peer:
        peer.send(peer.headers(1), window_update(stream, 1))
        peer.expect_served(1)


@case(SUITE, "generic/3.10/1: CONTINUATION", 1)
@case(SUITE, "generic/3.10/2: several CONTINUATION", 5)
@case(SUITE, "CONTINUATION of no bytes", 0)
def continuations(site, count):
    with site.peer() as peer:
        payload = block(peer.fields(more=[("x-a", "b" * 200)]))
        step = len(payload) // (count + 1) + 1 if count else len(payload)
        pieces = [payload[at:at + step] for at in range(0, len(payload), step)]
        pieces += [b""] * (not count)
        frames = [Frame(HEADERS, END_STREAM, 1, pieces[0])]
        frames += [Frame(CONTINUATION, 0, 1, piece) for piece in pieces[1:]]
        frames[-1].flags |= END_HEADERS
        peer.send(*frames)
        peer.expect_served(1)


@case(SUITE, "generic/4/1: GET", "GET", None)
@case(SUITE, "generic/4/2: HEAD", "HEAD", None)
@case(SUITE, "generic/4/3: POST", "POST", None)
@case(SUITE, "generic/4/4: POST with trailers", "POST", [("x-check", "1")])
@case(SUITE, "PUT", "PUT", None)
@case(SUITE, "DELETE", "DELETE", None)
@case(SUITE, "PATCH", "PATCH", None)
@case(SUITE, "OPTIONS", "OPTIONS", None)
@case(SUITE, "a method that nobody knows", "BREW", None)
def exchanges(site, method, trailers):
    with site.peer() as peer:
        has_body = method in ("POST", "PUT", "PATCH")
        peer.send(peer.headers(1, end=not has_body, method=method))
        if has_body:
            peer.send(data(1, b"test", trailers is None))
        if trailers:
            peer.send(peer.headers(1, fields=trailers))
        head, content, _ = peer.answer(1)
        if method == "HEAD" and content:
            raise Failed(f"HEAD was answered with content: {content!r}")
        names = [name for name, _ in head]
        if names.count(":status") != 1 or names[0] != ":status":
            raise Failed(f"the answer's pseudo-fields: {head}")
        wrong = {"connection", "keep-alive", "transfer-encoding", "upgrade", "proxy-connection"}
        if wrong & set(names) or any(name != name.lower() for name in names):
            raise Failed(f"fields that HTTP/2 does not have: {head}")
        length = dict(head).get("content-length")
        if length is not None and method != "HEAD" and int(length) != len(content):
            raise Failed(f"{len(content)} bytes where {length} are announced")


# Each part of HPACK as a sender may write it: of a static index, a literal with and without a
# known name, and each again with Huffman's code.
STATIC = {":method": 2, ":path": 4, ":scheme": 6, ":authority": 1, "user-agent": 58}


def text(value, huffman):
    value = value.encode()
    if not huffman:
        return integer(len(value), 7) + value
    from hpack.huffman import HuffmanEncoder
    from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
    coded = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH).encode(value)
    return integer(len(coded), 7, 0x80) + coded


def request_with(peer, extra):
    return block(peer.fields()) + extra


LITERALS = {"with incremental indexing": (6, 0x40), "without indexing": (4, 0x00),
            "never indexed": (4, 0x10)}
for _kind, (_bits, _first) in LITERALS.items():
    for _huffman in (False, True):
        _coded = " in Huffman's code" if _huffman else ""

        @case(SUITE, f"generic/5: a literal {_kind}, known name{_coded}",
              integer(STATIC["user-agent"], _bits, _first) + text("h2", _huffman))
        @case(SUITE, f"generic/5: a literal {_kind}, new name{_coded}",
              bytes([_first]) + text("x-test", _huffman) + text("h2", _huffman))
        def literals(site, extra):
            with site.peer() as peer:
                peer.send(peer.headers(1, raw=request_with(peer, extra)))
                peer.expect_served(1)


@case(SUITE, "generic/5/1: indexed fields")
def indexed(site):
    with site.peer() as peer:
        method, path = b"\x82", b"\x84"
        scheme = b"\x87" if peer.scheme == "https" else b"\x86"
        raw = method + scheme + path + b"\x01" + text(peer.authority, False)
        peer.send(peer.headers(1, raw=raw))
        peer.expect_served(1)


@case(SUITE, "generic/5/14: one table size update", [128])
@case(SUITE, "generic/5/15: several table size updates", [128, 4096])
@case(SUITE, "a table of no bytes, then of all", [0, 4096])
def sizes(site, updates):
    with site.peer() as peer:
        before = b"".join(integer(update, 5, 0x20) for update in updates)
        peer.send(peer.headers(1, raw=before + block(peer.fields())))
        peer.expect_served(1)


@case(SUITE, "a client without a table is sent no indices of one")
def no_table(site):
    with site.peer(first=[(HEADER_TABLE_SIZE, 0)]) as peer:
        peer.decoder.max_allowed_table_size = 0
        for stream in range(1, 11, 2):
            peer.exchange(stream)


@case(SUITE, "a large answer is cut into frames that the client takes")
def large(site):
    with site.peer(first=[(INITIAL_WINDOW_SIZE, 1 << 20)]) as peer:
        peer.send(window_update(0, 1 << 20))
        _, content, _ = peer.exchange(1, path="/large/1000000")
        if len(content) != 1_000_000:
            raise Failed(f"{len(content)} bytes")


@case(SUITE, "a table that lives from request to request")
def table(site):
    with site.peer() as peer:
        encoder = hpack.Encoder()
        for stream in range(1, 21, 2):
            fields = peer.fields(more=[("x-kept", "value" * 5), ("x-new", str(stream))])
            peer.send(peer.headers(stream, raw=encoder.encode(fields, huffman=stream % 4 == 1)))
            peer.expect_served(stream)
