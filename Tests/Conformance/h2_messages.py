"""Requests that are malformed (RFC 9113 section 8), and header compression (RFC 7541)."""

from cases import case
from wire import (
    COMPRESSION_ERROR, CONTINUATION, END_HEADERS, END_STREAM, HEADERS, PROTOCOL_ERROR, Failed,
    Frame, block, data, integer)

SUITE = "h2"


def malformed(name, make):
    """A case whose stream is reset as malformed, or refused where h2spec does not demand a reset;
    `make` returns frames."""
    @case(SUITE, name)
    def run(site):
        with site.peer() as peer:
            peer.send(*make(peer))
            peer.expect_stream_error(PROTOCOL_ERROR, or_refusal=not name.startswith("http2/"))


def with_fields(name, *more):
    malformed(name, lambda peer: [peer.headers(1, more=more)])


def changed(name, change):
    """As malformed, for a request whose list of fields `change` has altered."""
    def make(peer):
        fields = peer.fields()
        return [peer.headers(1, fields=change(fields) or fields)]
    malformed(name, make)


def without(field):
    return lambda fields: [each for each in fields if each[0] != field]


def replaced(field, value):
    return lambda fields: [(name, value if name == field else old) for name, old in fields]


def twice(field):
    return lambda fields: [each for each in fields if each[0] == field] + fields


malformed("http2/8.1/1: a second HEADERS that does not end the stream", lambda peer: [
    peer.headers(1, end=False, method="POST"),
    peer.headers(1, end=False, fields=[("x-a", "b")]), data(1, b"test")])
with_fields("http2/8.1.2/1: a name in upper case", ("X-TEST", "ok"))
with_fields("http2/8.1.2.1/1: an unknown pseudo-field", (":test", "ok"))
with_fields("http2/8.1.2.1/2: :status in a request", (":status", "200"))
malformed("http2/8.1.2.1/3: a pseudo-field in trailers", lambda peer: [
    peer.headers(1, end=False, method="POST"), data(1, b"test", False),
    peer.headers(1, fields=[(":method", "GET")])])
changed("http2/8.1.2.1/4: a pseudo-field after a field",
        lambda fields: fields[:3] + [("x-test", "ok")] + fields[3:])
for _name in ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"):
    with_fields(f"http2/8.1.2.2/1: {_name}", (_name, "keep-alive"))
with_fields("http2/8.1.2.2/2: TE of more than trailers", ("trailers", "test"), ("te", "gzip"))
with_fields("TE of trailers and more", ("te", "trailers, deflate"))
changed("http2/8.1.2.3/1: an empty :path", replaced(":path", ""))
for _number, _name in enumerate((":method", ":scheme", ":path"), 2):
    changed(f"http2/8.1.2.3/{_number}: no {_name}", without(_name))
for _number, _name in enumerate((":method", ":scheme", ":path", ":authority"), 5):
    changed(f"http2/8.1.2.3/{_number}: {_name} twice", twice(_name))
for _name, _length, _parts in (
        ("http2/8.1.2.6/1: one DATA of another length", "1", [b"test"]),
        ("http2/8.1.2.6/2: several DATA of another length", "1", [b"test", b"test"]),
        ("less DATA than was announced", "10", [b"test"]),
        ("DATA where none was announced", "0", [b"test"]),
        ("an announced length in words", "four", [b"test"]),
        ("an announced length below nothing", "-4", [b"test"]),
        ("an announced length with a sign", "+4", [b"test"])):
    malformed(_name, lambda peer, length=_length, parts=_parts: [
        peer.headers(1, end=False, method="POST", more=[("content-length", length)]),
        *(data(1, part, part is parts[-1] and index == len(parts) - 1)
          for index, part in enumerate(parts))])
malformed("a length announced, and no DATA at all", lambda peer: [
    peer.headers(1, method="POST", more=[("content-length", "4")])])
malformed("two lengths", lambda peer: [
    peer.headers(1, end=False, method="POST",
                 more=[("content-length", "4"), ("content-length", "5")]), data(1, b"test")])
malformed("trailers before the announced length has come", lambda peer: [
    peer.headers(1, end=False, method="POST", more=[("content-length", "9")]),
    data(1, b"test", False), peer.headers(1, fields=[("x-a", "b")])])

# RFC 9113 section 8.2.1: bytes of names and values.
for _byte in [*range(0x21), *range(0x41, 0x5B, 6), 0x3A, 0x7F, 0x80, 0xFF]:
    with_fields(f"byte {_byte:#04x} in a name", (b"x-a" + bytes([_byte]) + b"b", "c"))
for _byte in (0x00, 0x0A, 0x0D):
    with_fields(f"byte {_byte:#04x} in a value", ("x-a", b"b" + bytes([_byte]) + b"c"))
    with_fields(f"byte {_byte:#04x} at the end of a value", ("x-a", b"b" + bytes([_byte])))
for _text in (" b", "b ", "\tb", "b\t"):
    with_fields(f"white space around a value: {_text!r}", ("x-a", _text))
with_fields("a field without a name", ("", "b"))
with_fields("a name of a colon alone", (":", "b"))


@case(SUITE, "bytes beyond ASCII and tabs inside a value are taken")
def opaque(site):
    with site.peer() as peer:
        peer.send(peer.headers(1, more=[("x-a", b"b\tc \xe9\xff")]))
        peer.expect_served(1)


@case(SUITE, "TE of trailers is taken")
def trailers_wanted(site):
    with site.peer() as peer:
        peer.send(peer.headers(1, more=[("te", "trailers")]))
        peer.expect_served(1)


@case(SUITE, "Host in place of :authority")
def host(site):
    with site.peer() as peer:
        fields = [each for each in peer.fields() if each[0] != ":authority"]
        peer.send(peer.headers(1, fields=fields + [("host", peer.authority)]))
        if peer.expect_served(1)[0][1] != "200":
            raise Failed("not served")


@case(SUITE, "cookies in pieces")
def cookies(site):
    with site.peer() as peer:
        peer.send(peer.headers(1, more=[("cookie", "a=1"), ("cookie", "b=2"), ("cookie", "c=3")]))
        peer.expect_served(1)


@case(SUITE, "an announced length that is kept")
def kept_length(site):
    with site.peer() as peer:
        peer.send(peer.headers(1, end=False, method="POST", more=[("content-length", "8")]),
                  data(1, b"test", False), data(1, b"test"))
        peer.expect_served(1)


@case(SUITE, "one fault leaves the other streams alone")
def side_by_side(site):
    with site.peer() as peer:
        peer.send(peer.headers(1, end=False, method="POST"), peer.headers(3, more=[("X", "y")]),
                  peer.headers(5))
        # Some servers end the connection, which RFC 9113 section 8.1.1 does not ask for.
        peer.decoder.max_allowed_table_size = 65536
        frames = {}
        while 5 not in frames or 3 not in frames:
            frame = peer.receive()
            if frame.stream:
                frames.setdefault(frame.stream, frame)
        peer.expect_ping_answer()


@case(SUITE, "fields beyond what was offered are refused, and the connection goes on")
def too_large(site):
    with site.peer() as peer:
        pieces = block(peer.fields(more=[("x-a", "b" * 3000)] * 11))
        peer.send(Frame(HEADERS, END_STREAM, 1, pieces[:16384]),
                  Frame(CONTINUATION, 0, 1, pieces[16384:32768]),
                  Frame(CONTINUATION, END_HEADERS, 1, pieces[32768:]))
        head, _, _ = peer.answer(1)
        if dict(head)[":status"] not in ("400", "431"):
            raise Failed(f"{head}")
        peer.expect_ping_answer()


# RFC 7541, by its sections (h2spec's `hpack`).
for _name, _raw in {
        "hpack/2.3.3/1: an index beyond the tables": integer(70, 7, 0x80),
        "hpack/2.3.3/2: a name of an index beyond the tables": integer(70, 6, 0x40) + b"\x05empty",
        "hpack/4.2/1: a table size update after a field": integer(1, 5, 0x20),
        "hpack/5.2/1: Huffman padding of more than 7 bits": b"\0\x85\xf2\xb2\x4a\x84\xff\x84\x49"
                                                            b"\x50\x9f\xff",
        "hpack/5.2/2: Huffman padding of zeros": b"\0\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x90",
        "hpack/5.2/3: Huffman's end of string": b"\0\x85\xf2\xb2\x4a\x84\xff\x87\x49\x50\x9f\xff"
                                                b"\xff\xff\xff",
        "hpack/6.1/1: index 0": b"\x80",
        "hpack/6.3/1: a table larger than was offered": None,
        "an integer without an end": b"\xff" + b"\xff" * 20,
        "an integer beyond 2^32": b"\xff\xff\xff\xff\xff\xff\x7f",
        "a string longer than the block": b"\x00\x03x-a\x7f\xff\x7fb",
        "a literal that breaks off": b"\x00\x03x-"}.items():
    @case(SUITE, _name, _raw)
    def compression(site, raw):
        with site.peer() as peer:
            if raw is None:
                payload = integer(4097, 5, 0x20) + block(peer.fields())
            else:
                payload = block(peer.fields()) + raw
            peer.send(peer.headers(1, raw=payload))
            peer.expect_connection_error(COMPRESSION_ERROR)
