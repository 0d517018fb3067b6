"""Requests in HTTP/2 that mean something else once they are written in HTTP/1.1."""

import itertools

from cases import case
from wire import (
    DATA, END_STREAM, GOAWAY, HEADERS, PADDED, RST_STREAM, Closed, Failed, Frame, data)

SUITE = "downgrade"
NUMBERS = itertools.count(1)
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"


def outcome(peer, stream=1):
    """The status of an answer, `reset` or `closed`."""
    try:
        while True:
            frame = peer.receive()
            if frame.kind == HEADERS and frame.stream == stream:
                status = dict(peer.decoder.decode(frame.payload))[":status"]
                if status[0] != "1":
                    return status
            if frame.kind == RST_STREAM and frame.stream == stream:
                return "reset"
            if frame.kind == GOAWAY and frame.word(4):
                return "closed"
    except Closed:
        return "closed"


def request(name, make, must_refuse=True, body=(), trailers=None, check=None):
    """`make` changes a list of fields; the token is in the path, in `x-token`, or in both."""
    @case(SUITE, name)
    def run(site):
        token = f"d{next(NUMBERS):05d}d"
        with site.peer() as peer:
            fields = peer.fields("POST" if body or trailers else "GET", "/" + token,
                                 [("x-token", token)])
            fields = make(fields) or fields
            fields = [(key, value.replace(b"{token}", token.encode())
                       if isinstance(value, bytes) else value) for key, value in fields]
            frames = [peer.headers(1, end=not body and trailers is None, fields=fields)]
            frames += [data(1, part, trailers is None and index == len(body) - 1)
                       for index, part in enumerate(body)]
            if trailers is not None:
                frames.append(peer.headers(1, fields=trailers))
            peer.send(*frames)
            came = outcome(peer)
        requests, faults = site.upstream.seen(token)
        if faults:
            raise Failed(f"the upstream can read it in several ways: {faults}")
        if len(requests) > 1 or any(b"/hidden" in each.line for each in requests):
            raise Failed(f"one request became {[each.line for each in requests]}")
        if must_refuse and (requests or came.startswith("2")):
            raise Failed(f"{came}, passed on: {[each.line for each in requests]}")
        if not must_refuse and (came != "200" or len(requests) != 1):
            raise Failed(f"{came}, passed on {len(requests)} times")
        if check and requests:
            check(requests[0])


def added(*more):
    return lambda fields: fields + list(more)


def changed(name, value):
    return lambda fields: [(key, value if key == name else old) for key, old in fields]


def without(name):
    return lambda fields: [each for each in fields if each[0] != name]


def has(name, *values):
    def check(request):
        if request.values(name) != [each.encode() for each in values]:
            raise Failed(f"{name}: {request.values(name)}, not {values}")
    return check


def fits(length):
    def check(request):
        if len(request.body) != length:
            raise Failed(f"{len(request.body)} bytes of content, not {length}")
    return check


# Framing of HTTP/1.1 inside fields of HTTP/2.
for _value in ("chunked", "identity", "", "Chunked", "trailers"):
    request(f"transfer-encoding: {_value}", added(("transfer-encoding", _value)),
            body=[b"0\r\n\r\n", HIDDEN])
    request(f"transfer-encoding: {_value}, without a body",
            added(("transfer-encoding", _value)))
for _length in ("0", "1", "999", "-1", "+4", "4 ", "04x", "4,4", "4, 5", "0x4", "", "4;", "4.0",
                "18446744073709551620", "４"):
    request(f"content-length: {_length} over four bytes",
            added(("content-length", _length.encode())), body=[b"test"])
request("content-length of nothing over a hidden request", added(("content-length", "0")),
        body=[HIDDEN])
request("two lengths", added(("content-length", "4"), ("content-length", "0")), body=[b"test"])
request("a length that is less than what comes first", added(("content-length", "2")),
        body=[b"t", b"est"])
request("a length that is not reached before trailers", added(("content-length", "8")),
        body=[b"test"], trailers=[("x-end", "1")])
request("a length on a GET that ends", added(("content-length", "4")))
request("content_length beside a length",
        added(("content-length", "4"), ("content_length", "0")), body=[b"test"])
request("transfer_encoding", added(("transfer_encoding", "chunked")), body=[b"0\r\n\r\n", HIDDEN])
request("a length that is right", added(("content-length", "4")), False, [b"te", b"st"],
        check=has(b"content-length", "4"))
request("no length", lambda fields: fields, False, [b"te", b"st"], check=fits(4))
request("a body of no bytes", lambda fields: fields, False, [b""], check=fits(0))
request("content that is a request", lambda fields: fields, False, [HIDDEN],
        check=fits(len(HIDDEN)))
request("content that is chunks", lambda fields: fields, False, [b"0\r\n\r\n" + HIDDEN],
        check=fits(5 + len(HIDDEN)))
request("content that is chunks, under a type of chunks", added(("content-type", "chunked")),
        False, [b"0\r\n\r\n" + HIDDEN], check=fits(5 + len(HIDDEN)))

# Line ends, NUL and colons in every place.
INJECTED = [b"\r\n", b"\n", b"\r", b"\0", b"\r\n\r\n" + HIDDEN, b"\r\nHost: b", b"\nx: y",
            b"\r\ntransfer-encoding: chunked", b"\r\ncontent-length: 0", b"\r\n x", b"\x0b",
            b"\x7f"]
for _text in INJECTED:
    request(f"{_text[:20]!r} in a value", added(("x-a", b"b" + _text + b"c")))
    request(f"{_text[:20]!r} in a name", added((b"x-a" + _text + b"b", "c")))
    request(f"{_text[:20]!r} in :path", changed(":path", b"/{token}" + _text))
    request(f"{_text[:20]!r} in :method", changed(":method", b"GET" + _text))
    request(f"{_text[:20]!r} in :authority", changed(":authority", b"a" + _text))
    request(f"{_text[:20]!r} in :scheme", changed(":scheme", b"http" + _text))
    request(f"{_text[:20]!r} in a cookie", added(("cookie", b"a=b" + _text)))
for _name in (b"x-a:", b":x-a", b"x-a: b\r\ny", b"x a", b"x-a ", b" x-a", b"X-A", b"x-a\xff", b"",
              b"transfer-encoding ", b"content-length:", b"host ", b"x(a)", b"x/a", b"\"x\"",
              b"x,a", b"x;a", b"x=a", b"x@a", b"[x]", b"{x}", b"x\\a", b"x-\xc3\xa9"):
    request(f"the name {_name!r}", added((_name, "0")))

# Where a request line would read otherwise.
for _path in (b"", b"{token}", b"*", b"/{token} HTTP/1.1", b"/{token} b", b"/{token}\t",
              b" /{token}",
              b"/{token}#b", b"http://b/{token}", b"//b/{token}", b"?{token}", b"/{token}\\..\\b",
              b"/{token}/../b", b"/{token}%00", b"/{token}\xff", b"/{token}\x80b",
              b"\\{token}", b"/{token} HTTP/1.1\r\nx: y"):
    request(f":path {_path!r}", changed(":path", _path))
for _method in (b"", b"GET ", b" GET", b"GET /hidden HTTP/1.1\r\nHost: a\r\n\r\nGET", b"GE T",
                b"G\tT",
                b"get", b"GET:", b"G(T)", b"GET\xff", b"CONNECT", b"PRI ", b"/"):
    request(f":method {_method!r}", changed(":method", _method))
for _authority in (b"a b", b"a/b", b"a?b", b"a#b", b"user@a", b"a\\b", b"a:b", b"a:99999999",
                   b"[::1", b"a\xff", b"a\tb", b"@", b"a:80:80", b"http://a"):
    request(f":authority {_authority!r}", changed(":authority", _authority))
for _scheme in (b"", b"ftp", b"http://b/?", b"https ", b"javascript", b"HTTP/1.1", b"http\xff",
                b"https://b"):
    request(f":scheme {_scheme!r}", changed(":scheme", _scheme))

# Who is asked.
request(":authority and another Host", added(("host", "other.example")))
request(":authority and two Hosts", added(("host", "conform.example"), ("host", "b")))
request("an empty Host beside :authority", added(("host", "")))
request("neither :authority nor Host", without(":authority"))
request("an empty :authority", changed(":authority", ""))
request("two Hosts in place of :authority", lambda fields: [
    *without(":authority")(fields), ("host", "a"), ("host", "b")])
request("the same name in :authority and Host", added(("host", "conform.example")), False,
        check=lambda request: None)
request("Host in place of :authority",
        lambda fields: without(":authority")(fields) + [("host", "conform.example")], False)

# Pseudo-fields that come twice, late or from elsewhere.
for _name in (":method", ":scheme", ":path", ":authority"):
    request(f"{_name} twice", lambda fields, name=_name:
            [each for each in fields if each[0] == name] + fields)
    request(f"{_name} behind a field", lambda fields, name=_name:
            [each for each in fields if each[0] != name] + [
                each for each in fields if each[0] == name])
for _name in (":status", ":protocol", ":path ", ":Path", ":", ":host", "::path"):
    request(f"the pseudo-field {_name!r}", lambda fields, name=_name: [(name, "200")] + fields)

# What concerns one connection.
for _name, _value in {
        "connection": "close", "keep-alive": "1", "proxy-connection": "close", "upgrade": "h2c",
        "te": "gzip", "http2-settings": "AAMAAABk", "connection ": "close"}.items():
    request(f"{_name}: {_value}", added((_name, _value)))
request("connection that names another field",
        added(("connection", "x-token"), ("x-secret", "1")))
request("upgrade of h2c in full", added(
    ("connection", "upgrade, http2-settings"), ("upgrade", "h2c"), ("http2-settings", "AAMAAABk")))
request("extended CONNECT", lambda fields: [
    (":method", "CONNECT"), (":protocol", "websocket"), *fields[1:]])
request("te: trailers", added(("te", "trailers")), False)
request("expect: 100-continue", added(("expect", "100-continue")), False, [b"test"],
        check=fits(4))
request("expect of something else", added(("expect", "200-ok")), body=[b"test"])
request("cookies in pieces", added(("cookie", "a=1"), ("x-b", "c"), ("cookie", "d=2")), False,
        check=has(b"cookie", "a=1; d=2"))

# Trailers that are more.
for _name, _value in {
        ":path": "/hidden", ":method": "GET", "transfer-encoding": "chunked", "Upper": "1",
        "connection": "close", "x-a": b"b\r\nc", "x-a\r\nb": "c"}.items():
    request(f"the trailer {_name!r}: {_value!r}", lambda fields: fields, body=[b"test"],
            trailers=[(_name, _value)])
for _name, _value in {
        "content-length": "0", "host": "b", "x-token": "other", "authorization": "b",
        "te": "trailers", "cookie": "a"}.items():
    @case(SUITE, f"the trailer {_name} changes nothing", _name, _value)
    def harmless(site, name, value):
        token = f"d{next(NUMBERS):05d}d"
        with site.peer() as peer:
            peer.send(peer.headers(1, end=False, method="POST", path="/" + token),
                      data(1, b"test", False), peer.headers(1, fields=[(name, value)]))
            outcome(peer)
        requests, faults = site.upstream.seen(token)
        if faults or len(requests) > 1:
            raise Failed(f"{faults} {requests}")
        if requests and any(key.decode() == name and found.decode() == value
                            for key, found in requests[0].fields):
            raise Failed("it became a field of the head")


@case(SUITE, "bytes of padding are no content")
def padding(site):
    token = f"d{next(NUMBERS):05d}d"
    with site.peer() as peer:
        peer.send(peer.headers(1, end=False, method="POST", path="/" + token,
                               more=[("content-length", "4")]),
                  Frame(DATA, PADDED | END_STREAM, 1, bytes([200]) + b"test" + b"G" * 200))
        if outcome(peer) != "200":
            raise Failed("not served")
    requests, _ = site.upstream.seen(token)
    if requests[0].body != b"test":
        raise Failed(f"{requests[0].body!r}")


@case(SUITE, "a hundred requests at once each reach the upstream whole")
def many(site):
    with site.peer() as peer:
        token = f"d{next(NUMBERS):05d}d"
        peer.send(*(frame for index in range(100) for frame in (
            peer.headers(2 * index + 1, end=False, method="POST", path=f"/{token}-{index}"),
            data(2 * index + 1, b"x" * index))))
        left = {2 * index + 1 for index in range(100)}
        while left:
            frame = peer.receive()
            if frame.kind in (RST_STREAM, GOAWAY):
                raise Failed(f"{frame}")
            if frame.flags & END_STREAM and frame.kind in (DATA, HEADERS):
                left.discard(frame.stream)
    requests, _ = site.upstream.seen(token)
    lengths = {request.target: len(request.body) for request in requests}
    if lengths != {f"/{token}-{index}": index for index in range(100)}:
        raise Failed(f"{lengths}")
