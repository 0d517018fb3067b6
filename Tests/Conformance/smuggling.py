"""Requests with two readings: what the upstream sees must have one.

Each case has a token of its own. Whatever the server makes of the bytes, the upstream must be able
to read what it gets by the letter (upstream.py); and what one reading hides in a body must not come
out as a request where the other was announced to somebody.
"""

import itertools

from cases import case
from wire import Failed

SUITE = "smuggling"
NUMBERS = itertools.count(1)
# Where no answer comes: the server waits for the rest of what it takes for a body.
QUIET = 3


def send(site, payload):
    """Sends, ends the request side by a last request that closes, and reads what comes."""
    with site.connect() as connection:
        connection.send_bytes(payload)
        connection.send_bytes(b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        received = b""
        try:
            while piece := connection.receive_bytes(within=QUIET):
                received += piece
        except Failed:
            pass
        return received


def statuses(received):
    return [int(line[9:12]) for line in received.split(b"\r\n")
            if line.startswith(b"HTTP/1.1 ") and line[9:12].isdigit()]


def judge(site, token, received, must_refuse):
    """What holds for every case."""
    requests, faults = site.upstream.seen(token)
    if faults:
        raise Failed(f"the upstream can read it in several ways: {faults}")
    if must_refuse and requests:
        raise Failed(f"passed on: {[request.line for request in requests]}")
    if must_refuse and any(status < 400 for status in statuses(received)[:1]):
        raise Failed(f"answered: {received[:80]!r}")
    return requests


def ambiguous(name, head, body, must_refuse=True):
    """A POST whose framing has two readings. `{hidden}` in the body is another request's start
    line; `head` are its fields, with `{length}` for that of the whole body."""
    @case(SUITE, name)
    def run(site):
        token = f"t{next(NUMBERS):05d}t"
        content = body.replace(b"{hidden}", b"GET /hidden-" + token.encode() + b" HTTP/1.1\r\n"
                               b"Host: a\r\n\r\n")
        fields = head.replace(b"{length}", b"%d" % len(content))
        payload = b"POST /" + token.encode() + b" HTTP/1.1\r\nHost: a\r\n" + fields + b"\r\n"
        requests = judge(site, token, send(site, payload + content), must_refuse)
        first = [request for request in requests if request.target == f"/{token}"]
        if len(first) > 1:
            raise Failed("one request became two")


# A length over everything; chunks that end before the hidden request.
BODY = b"0\r\n\r\n{hidden}"
# A length over the first line only; one chunk that holds the hidden request.
SHORT_BODY = b"48\r\nGET /hidden HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 35 + b"\r\n0\r\n\r\n"

BYTES = [0x00, 0x01, 0x04, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1F, 0x20, 0x7F, 0x85, 0xA0, 0xFF]
PLACES = {
    "before the name": b"%sTransfer-Encoding: chunked\r\n",
    "in the name": b"Transfer%s-Encoding: chunked\r\n",
    "behind the name": b"Transfer-Encoding%s: chunked\r\n",
    "before the value": b"Transfer-Encoding:%schunked\r\n",
    "behind the value": b"Transfer-Encoding: chunked%s\r\n",
    "in the value": b"Transfer-Encoding: chu%snked\r\n",
    "before it, in another value": b"X: X%sTransfer-Encoding: chunked\r\n",
    "behind it, before another name": b"Transfer-Encoding: chunked%sX: X\r\n",
    "behind CR before it": b"X: X\r%sTransfer-Encoding: chunked\r\n",
    "before LF before it": b"X: X%s\nTransfer-Encoding: chunked\r\n",
    "behind CR behind it": b"Transfer-Encoding: chunked\r%sX: X\r\n",
    "before LF behind it": b"Transfer-Encoding: chunked%s\nX: X\r\n",
}
# A value may hold these bytes: then the field is X alone, and all read it alike.
HARMLESS = {("before it, in another value", byte) for byte in (0x09, 0x20, 0x85, 0xA0, 0xFF)}

for _place, _pattern in PLACES.items():
    for _byte in BYTES:
        _line = _pattern.replace(b"%s", bytes([_byte]))
        _refuse = (_place, _byte) not in HARMLESS
        ambiguous(f"length, then coding with {_byte:#04x} {_place}",
                  b"Content-Length: {length}\r\n" + _line, BODY, _refuse)
        ambiguous(f"coding with {_byte:#04x} {_place}, then short length",
                  _line + b"Content-Length: 4\r\n", SHORT_BODY, False)
        ambiguous(f"length with {_byte:#04x} {_place}, then coding",
                  _line.replace(b"Transfer", b"Content").replace(b"Encoding", b"Length")
                  .replace(b"chunked", b"{length}").replace(b"chu", b"{length}")
                  .replace(b"nked", b"") + b"Transfer-Encoding: chunked\r\n", BODY, False)

CODINGS = [
    b"chunked, identity", b"identity, chunked", b"chunked, cow", b"cow, chunked", b"xchunked",
    b"chunkedx", b"chunk", b"chunked;q=0", b"\"chunked\"", b"'chunked'", b"chunked,", b",chunked",
    b" chunked", b"\tchunked", b"chunked ", b"cHuNkEd", b"chunked, chunked", b"deflate", b"x",
    b"chunked\x00", b"\\chunked", b"chun\xc4\xb7ed", b"", b"[chunked]", b"(chunked)", b"chunked=",
    b"chunked/1.0", b"null, chunked", b"gzip,chunked,", b"chunked%00", b"\xef\xbb\xbfchunked",
]
for _coding in CODINGS:
    ambiguous(f"length beside the coding {_coding!r}",
              b"Content-Length: {length}\r\nTransfer-Encoding: " + _coding + b"\r\n", BODY)
    ambiguous(f"the coding {_coding!r} beside a short length",
              b"Transfer-Encoding: " + _coding + b"\r\nContent-Length: 4\r\n", SHORT_BODY)

NAMES = [
    b"Transfer_Encoding", b"TRANSFER-ENCODING", b"tRANSFER-eNCODING", b"Transfer.Encoding",
    b"Transfer Encoding", b"Transfer--Encoding", b"TransferEncoding", b"X-Transfer-Encoding",
    b"Transfer-Encodin", b"Transfer-Encodings", b"Transfer\xe2\x80\x90Encoding", b"\"Transfer-Enco"
    b"ding\"", b"Foo:\r\n Transfer-Encoding", b"Foo\r\nTransfer-Encoding", b"TE\r\nTransfer-Enco"
    b"ding", b"Transfer-Encoding\r\n ", b"(Transfer-Encoding)", b"Tr\xc3\xa0nsfer-Encoding",
]
# What is another name to everybody may pass beside a length.
OTHER_NAMES = (b"TransferEncoding", b"X-Transfer-Encoding", b"Transfer-Encodin",
               b"Transfer-Encodings", b"Transfer--Encoding", b"Transfer.Encoding",
               b"Transfer_Encoding")
for _name in NAMES:
    ambiguous(f"length beside the name {_name!r}",
              b"Content-Length: {length}\r\n" + _name + b": chunked\r\n", BODY,
              _name not in OTHER_NAMES)
    ambiguous(f"the name {_name!r} beside a short length",
              _name + b": chunked\r\nContent-Length: 4\r\n", SHORT_BODY, False)

LENGTHS = [
    b"+{length}", b"-{length}", b"0{length}", b"{length} ", b"\t{length}", b"{length}, {length}",
    b"{length},0", b"0, {length}", b"{length};", b"0x5", b"{length}.0", b"{length}e0", b"{length}L",
    b"{length} 0", b"{length}\x00", b"\x0b{length}", b"{length}\xa0", b"\xd9\xa5", b"1_0", b"'5'",
    b"\"{length}\"", b"", b"4294967301", b"18446744073709551621", b"{length}\r\n 0",
    b"{length}\r\nContent-Length: 0", b"0\r\nContent-Length: {length}",
    b"{length}\r\nContent-Length: {length}", b"{length}\r\nContent_Length: 0",
    b"{length}\r\nContent-Length : 0", b"{length}\r\nContent-Length\t: 0",
    b"{length}\r\n Content-Length: 0", b"{length}\r\nContent-Length:",
    b"{length}\nContent-Length: 0",
]
# One number to everybody; equal ones may be folded (RFC 9110 section 8.6).
CLEAR_LENGTHS = (b"{length} ", b"\t{length}", b"0{length}", b"{length}, {length}",
                 b"{length}\r\nContent-Length: {length}", b"{length}\r\nContent_Length: 0")
for _length in LENGTHS:
    ambiguous(f"the length {_length!r}", b"Content-Length: " + _length + b"\r\n", BODY,
              _length not in CLEAR_LENGTHS)

for _kind, _body in {
        "a size with LF alone": b"2\nab\r\n0\r\n\r\n{hidden}",
        "a size with CR alone": b"2\rab\r\n0\r\n\r\n{hidden}",
        "an extension that hides a chunk's end": b"2;\nxx\r\n4c\r\nab\r\n0\r\n\r\n{hidden}",
        "an extension with CR": b"2;a\rb\r\nab\r\n0\r\n\r\n{hidden}",
        "content without its end": b"2\r\nab0\r\n\r\n{hidden}",
        "content that ends in LF": b"2\r\nab\n0\r\n\r\n{hidden}",
        "content that ends in two other bytes": b"2\r\nabXX0\r\n\r\n{hidden}",
        "a size of 2^64": b"10000000000000000\r\n0\r\n\r\n{hidden}",
        "a size of 2^64 + 2": b"10000000000000002\r\nab\r\n0\r\n\r\n{hidden}",
        "a size of 2^32 + 2": b"100000002\r\nab\r\n0\r\n\r\n{hidden}",
        "a size of -1": b"-1\r\nab\r\n0\r\n\r\n{hidden}",
        "a size of 0x2": b"0x2\r\nab\r\n0\r\n\r\n{hidden}",
        "a size with a space before it": b" 2\r\nab\r\n0\r\n\r\n{hidden}",
        "a size with a sign": b"+2\r\nab\r\n0\r\n\r\n{hidden}",
        "a size with a comma": b"2,\r\nab\r\n0\r\n\r\n{hidden}",
        "a size of no digits": b";a\r\n0\r\n\r\n{hidden}",
        "a last chunk that ends in LF": b"0\n\n{hidden}",
        "trailers that end in LF": b"0\r\nX: y\n\n{hidden}",
        "trailers with CR": b"0\r\nX: y\rz\r\n\r\n{hidden}",
        "trailers that are folded": b"0\r\nX: y\r\n z\r\n\r\n{hidden}",
        "trailers without a colon": b"0\r\nGET /hidden HTTP/1.1\r\n\r\n",
        "trailers of framing": b"0\r\nTransfer-Encoding: chunked\r\n\r\n{hidden}",
        "a preceding empty chunk": b"\r\n0\r\n\r\n{hidden}",
        "digits that are no ASCII": b"\xef\xbc\x92\r\nab\r\n0\r\n\r\n{hidden}"}.items():
    @case(SUITE, f"chunks: {_kind}", _body)
    def chunks(site, body):
        token = f"t{next(NUMBERS):05d}t"
        content = body.replace(b"{hidden}", b"GET /hidden-" + token.encode() + b" HTTP/1.1\r\n"
                               b"Host: a\r\n\r\n")
        payload = b"POST /%s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        judge(site, token, send(site, payload % token.encode() + content), True)


# Answered by the gateway itself, or not at all: a body that nobody reads is still a body.
for _path, _method, _is_chunked in itertools.product(
        ["/attest/challenge", "/attest/verify", "/assert/challenge", "/none", "/../none"],
        ["GET", "POST", "HEAD", "OPTIONS", "DELETE", "PUT"], [False, True]):
    @case(SUITE, f"a body of {_method} {_path}{' in chunks' if _is_chunked else ''}",
          _path, _method, _is_chunked)
    def unread(site, path, method, is_chunked):
        token = f"t{next(NUMBERS):05d}t"
        hidden = f"GET /hidden-{token} HTTP/1.1\r\nHost: a\r\n\r\n"
        framing = f"Content-Length: {len(hidden)}"
        body = hidden
        if is_chunked:
            framing = "Transfer-Encoding: chunked"
            body = f"{len(hidden):x}\r\n{hidden}\r\n0\r\n\r\n"
        received = send(site, f"{method} {path} HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n"
                        f"{body}".encode())
        requests = judge(site, token, received, False)
        if any(token in request.target for request in requests):
            raise Failed("the body became a request")
        if len(statuses(received)) > 2:
            raise Failed(f"answered {statuses(received)}")


def lines(name, text, must_refuse=True):
    """A request line, or a head, with `{token}` in it."""
    @case(SUITE, name)
    def run(site):
        token = f"t{next(NUMBERS):05d}t"
        judge(site, token, send(site, text.replace(b"{token}", token.encode())), must_refuse)


for _byte in [byte for byte in BYTES if byte != 0x20] + [0x22, 0x23, 0x3C, 0x5C, 0x5E, 0x60, 0x7B]:
    _at = bytes([_byte])
    # A browser sends some of these as they are; no server reads them in two ways.
    _unclear = _byte < 0x22 or _byte in (0x23, 0x7F)
    lines(f"byte {_byte:#04x} in the target", b"GET /{token}" + _at + b"b HTTP/1.1\r\nHost: a\r\n"
          b"\r\n", _unclear)
    lines(f"byte {_byte:#04x} behind the method", b"GET" + _at + b" /{token} HTTP/1.1\r\nHost: a"
          b"\r\n\r\n", _byte not in (0x23, 0x5E, 0x60))
    lines(f"byte {_byte:#04x} behind the version", b"GET /{token} HTTP/1.1" + _at + b"\r\nHost: a"
          b"\r\n\r\n")
    lines(f"byte {_byte:#04x} in Host", b"GET /{token} HTTP/1.1\r\nHost: a" + _at + b"b\r\n\r\n",
          _unclear)
for _name, _text in {
        "a second request line":
            b"GET /{token} HTTP/1.1\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n",
        "a target with a request in it": b"GET /{token} HTTP/1.1\r\nHost: b HTTP/1.1\r\n\r\n",
        "two versions": b"GET /{token} HTTP/1.1 HTTP/1.0\r\nHost: a\r\n\r\n",
        "Host and target of two names": b"GET http://b/{token} HTTP/1.1\r\nHost: a\r\n\r\n",
        "two Hosts": b"GET /{token} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "Host in disguise": b"GET /{token} HTTP/1.1\r\nHost : a\r\n\r\n",
        "Host that is folded": b"GET /{token} HTTP/1.1\r\nHost:\r\n a\r\n\r\n",
        "Host behind a folded line": b"GET /{token} HTTP/1.1\r\nX: y\r\n Host: a\r\n\r\n",
        "HTTP/0.9": b"GET /{token}\r\n\r\n",
        "LF alone everywhere": b"GET /{token} HTTP/1.1\nHost: a\n\n",
        "CR alone everywhere": b"GET /{token} HTTP/1.1\rHost: a\r\r",
        "a head that ends in CR CR LF": b"GET /{token} HTTP/1.1\r\nHost: a\r\n\r\r\n\r\n"}.items():
    lines(_name, _text)


@case(SUITE, "after all that the next client gets its own answer")
def still_right(site):
    for index in range(50):
        with site.connect() as connection:
            connection.send_bytes(
                b"GET /own-%d HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % index)
            answer = connection.receive_to_end()
        if b"GET /own-%d 0\n" % index not in answer:
            raise Failed(f"{answer!r}")
