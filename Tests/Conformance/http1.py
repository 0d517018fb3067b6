"""HTTP/1.1 by RFC 9110 and RFC 9112: what must be served, and what must be refused."""

import re

from cases import case
from wire import PATIENCE, Failed

SUITE = "http1"
HOST = "Host: conform.example\r\n"


class Answer:
    """One answer off a connection."""

    def __init__(self, status, fields, body, interim):
        self.status, self.fields, self.body, self.interim = status, fields, body, interim

    def __getitem__(self, name):
        return next((value for key, value in self.fields if key.lower() == name), None)


class Answers:
    """Reads answers one by one."""

    def __init__(self, connection):
        self.connection, self.pending = connection, b""

    def more(self):
        piece = self.connection.receive_bytes(within=PATIENCE)
        self.pending += piece
        return bool(piece)

    def next(self, to_head=False):
        """None where the connection has ended before another answer."""
        interim = []
        while True:
            while b"\r\n\r\n" not in self.pending:
                if not self.more():
                    if self.pending:
                        raise Failed(f"an answer breaks off: {self.pending[:100]!r}")
                    return None
            head, self.pending = self.pending.split(b"\r\n\r\n", 1)
            first, *lines = head.decode("latin-1").split("\r\n")
            match = re.match(r"^HTTP/1\.1 (\d\d\d) ", first)
            if not match:
                raise Failed(f"no status line: {first!r}")
            if match.group(1)[0] != "1":
                break
            interim.append(int(match.group(1)))
        fields = [tuple(line.split(":", 1)) for line in lines]
        answer = Answer(int(match.group(1)), [(a, b.strip()) for a, b in fields], b"", interim)
        if to_head or answer.status in (204, 304):
            return answer
        if (answer["transfer-encoding"] or "").lower() == "chunked":
            while True:
                while b"\r\n" not in self.pending and self.more():
                    pass
                size, self.pending = self.pending.split(b"\r\n", 1)
                count = int(size, 16)
                while len(self.pending) < count + 2 and self.more():
                    pass
                answer.body += self.pending[:count]
                self.pending = self.pending[count + 2:]
                if count == 0:
                    return answer
        if answer["content-length"] is None:
            while self.more():
                pass
            answer.body, self.pending = self.pending, b""
            return answer
        length = int(answer["content-length"])
        while len(self.pending) < length:
            if not self.more():
                raise Failed("a body breaks off")
        answer.body, self.pending = self.pending[:length], self.pending[length:]
        return answer


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode("latin-1")


def exchange(site, text, pieces=1, to_head=False):
    """The first answer to bytes that are sent in pieces, and whether the connection goes on."""
    text = as_bytes(text)
    with site.connect() as connection:
        step = max(1, len(text) // pieces)
        for at in range(0, len(text), step):
            connection.send_bytes(text[at:at + step])
        answers = Answers(connection)
        answer = answers.next(to_head)
        if answer is None:
            raise Failed("closed without an answer")
        if answer.status < 400:
            connection.send_bytes(as_bytes(f"GET /after HTTP/1.1\r\n{HOST}\r\n"))
            after = answers.next()
            return answer, after is not None and after.status == 200
        return answer, False


def served(name, text, status=(200,), goes_on=True, pieces=1, to_head=False):
    @case(SUITE, name)
    def run(site):
        answer, went_on = exchange(site, text, pieces, to_head)
        if answer.status not in status:
            raise Failed(f"{answer.status}, not {status}: {answer.body[:100]!r}")
        if went_on != goes_on and answer.status < 400:
            raise Failed("the connection " + ("goes on" if went_on else "has ended"))


def refused(name, text, low=400, high=599):
    @case(SUITE, name)
    def run(site):
        text_bytes = as_bytes(text)
        with site.connect() as connection:
            connection.send_bytes(text_bytes)
            answer = Answers(connection).next()
            if answer is not None and not low <= answer.status <= high:
                raise Failed(f"{answer.status} {answer.body[:100]!r}")


def get(fields="", target="/", version="1.1", method="GET"):
    return f"{method} {target} HTTP/{version}\r\n{HOST}{fields}\r\n"


def post(fields, body=""):
    return f"POST / HTTP/1.1\r\n{HOST}{fields}\r\n{body}"


def chunked(body):
    return post("Transfer-Encoding: chunked\r\n", body)


# The requests of public conformance suites, in their words.
for _pieces in (1, 2, 3, 7, 1000):
    served(f"GET in {_pieces} pieces", get("X-A: b\r\n"), pieces=_pieces)
    served(f"POST in {_pieces} pieces", post("Content-Length: 5\r\n", "hello"), pieces=_pieces)
    served(f"chunks in {_pieces} pieces", chunked("5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"),
           pieces=_pieces)
served("odd case and no space behind colons", "GET / HTTP/1.1\r\nhoSt:conform.example\r\n"
       "X-Empty:\r\n\r\n")
served("white space around a value", get("X-A: \t b \t \r\n"))
served("an empty value", get("X-Empty: \r\n"))
served("obs-text in a value", get("X-A: \xe9\xff\r\n"))
served("a query", get(target="/a?b=c&d=/e?f"))
served("an absolute target", f"GET http://conform.example/a HTTP/1.1\r\n{HOST}\r\n")
served("OPTIONS of the server", get(target="*", method="OPTIONS"), (200, 204, 404, 405))
served("HEAD", get(method="HEAD"), to_head=True)
served("PUT", "PUT / HTTP/1.1\r\n" + HOST + "Content-Length: 2\r\n\r\nab")
served("DELETE with a body", "DELETE / HTTP/1.1\r\n" + HOST + "Content-Length: 2\r\n\r\nab")
served("an empty line before the request", "\r\n" + get())
served("Connection: close", get("Connection: close\r\n"), goes_on=False)
served("Connection: Close among others", get("Connection: x-a, Close\r\n"), goes_on=False)
served("HTTP/1.0", get(version="1.0"), goes_on=False)
served("HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", goes_on=False)
served("HTTP/1.0 that is kept alive", get("Connection: keep-alive\r\n", version="1.0"))
served("Expect: 100-continue", post("Expect: 100-continue\r\nContent-Length: 5\r\n", "hello"))
served("chunk extensions", chunked("5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n"))
served("trailers", chunked("5\r\nhello\r\n0\r\nX-Check: 1\r\n\r\n"))
served("chunk sizes with zeros before and capital digits",
       chunked("00A\r\n0123456789\r\n0\r\n\r\n"))
served("Transfer-Encoding in capitals", post("Transfer-Encoding: CHUNKED\r\n", "0\r\n\r\n"))
served("a field of 4 KiB", get("X-A: " + "b" * 4096 + "\r\n"))
served("a target of 4 KiB", get(target="/" + "a" * 4096))
served("60 fields", get("".join(f"X-A-{index}: b\r\n" for index in range(60))))
served("a port in Host", "GET / HTTP/1.1\r\nHost: conform.example:8080\r\n\r\n")
served("an address in Host", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n")

refused("no version", "GET /\r\n\r\n")
refused("HTTP/0.9", "GET / HTTP/0.9\r\n\r\n")
refused("HTTP/2.0 in a request line", get(version="2.0"))
refused("HTTP/9.9", get(version="9.9"))
refused("a version in small letters", f"GET / http/1.1\r\n{HOST}\r\n")
refused("a version of one digit", get(version="1"))
refused("a version of three", get(version="1.1.1"))
refused("no Host", "GET / HTTP/1.1\r\n\r\n")
refused("two Hosts", get("Host: other.example\r\n"))
refused("two equal Hosts", get(HOST))
refused("two Hosts in a list", "GET / HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n")
refused("Host with a path", "GET / HTTP/1.1\r\nHost: a.example/b\r\n\r\n")
refused("Host with a user", "GET / HTTP/1.1\r\nHost: user@a.example\r\n\r\n")
refused("Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n")
refused("Host that differs from the target", f"GET http://x.example/ HTTP/1.1\r\n{HOST}\r\n")
refused("a bracket in a name", get("X-Invalid[]: test\r\n"))
refused("a space in a name", get("X A: b\r\n"))
refused("a space behind a name", get("X-A : b\r\n"))
refused("a tab behind a name", get("X-A\t: b\r\n"))
refused("no name", get(": b\r\n"))
refused("no colon", get("X-A\r\n"))
refused("a folded line", get("X-A: b\r\n c\r\n"))
refused("a line folded by a tab", get("X-A: b\r\n\tc\r\n"))
refused("white space before the first field", f"GET / HTTP/1.1\r\n {HOST}\r\n")
refused("a control character in a value", get("X-A: b\x07c\r\n"))
refused("NUL in a value", get("X-A: b\0c\r\n"))
refused("DEL in a value", get("X-A: b\x7fc\r\n"))
refused("CR in a value", get("X-A: b\rc\r\n"))
refused("NUL in a name", get("X\0A: b\r\n"))
refused("NUL in a target", get(target="/\0"))
refused("CR in a line's end", f"GET / HTTP/1.1\r\n{HOST}\rX-A: b\r\n\r\n")
refused("LF alone behind the request line", f"GET / HTTP/1.1\n{HOST}\r\n")
refused("LF alone behind a field", f"GET / HTTP/1.1\r\nHost: conform.example\n\r\n")
refused("words before the request", "Extra line\r\n" + get())
refused("a space before the method", " " + get())
refused("two spaces behind the method", f"GET  / HTTP/1.1\r\n{HOST}\r\n")
refused("two spaces behind the target", f"GET /  HTTP/1.1\r\n{HOST}\r\n")
refused("a tab behind the method", f"GET\t/ HTTP/1.1\r\n{HOST}\r\n")
refused("a space in the target", f"GET /a b HTTP/1.1\r\n{HOST}\r\n")
refused("a fragment in the target", get(target="/a#b"))
refused("a target without a slash", get(target="a"))
refused("a target of a star for GET", get(target="*"))
refused("CONNECT", "CONNECT conform.example:443 HTTP/1.1\r\nHost: conform.example:443\r\n\r\n")
refused("a method with a colon", get(method="GE:T"))
refused("an empty method", f" / HTTP/1.1\r\n{HOST}\r\n")
refused("a target of 64 KiB", get(target="/" + "a" * 65536))
refused("a field of 256 KiB", get("X-A: " + "b" * 262144 + "\r\n"))
refused("ten thousand fields", get("".join(f"X-{index}: b\r\n" for index in range(10000))))
for _length in ("-1", "+5", "5 5", "5,5", "5, 6", "0x5", "5.0", "five", "", "1e1", "5;",
                "99999999999999999999", "-9223372036854775808", "18446744073709551621"):
    refused(f"a length of {_length!r}", post(f"Content-Length: {_length}\r\n", "hello"))
refused("two lengths", post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello!"))
refused("a length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                                    "0\r\n\r\n"))
refused("chunks and a length", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                                    "0\r\n\r\n"))
for _coding in ("identity", "gzip", "chunked, chunked", "chunked, gzip", "gzip, chunked",
                "chunked, identity", "identity, chunked", "xchunked", "chunked;a=b", "\"chunked\"",
                "chun ked", "chunked\x0b", ",chunked", ""):
    refused(f"a coding of {_coding!r}", post(f"Transfer-Encoding: {_coding}\r\n", "0\r\n\r\n"))
refused("two codings", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                            "0\r\n\r\n"))
refused("chunks in HTTP/1.0", f"POST / HTTP/1.0\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n"
        "0\r\n\r\n")
for _name, _body in {
        "no hexadecimal digit": "g\r\n", "a sign": "+5\r\nhello\r\n0\r\n\r\n",
        "0x": "0x5\r\nhello\r\n0\r\n\r\n", "a space before it": " 5\r\nhello\r\n0\r\n\r\n",
        "an underscore": "1_0\r\n", "17 digits": "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "20 digits": "fffffffffffffffffff5\r\nhello\r\n0\r\n\r\n", "none at all": "\r\nhello\r\n",
        "below zero": "-5\r\nhello\r\n0\r\n\r\n"}.items():
    refused(f"a chunk's size with {_name}", chunked(_body))
for _name, _body in {
        "LF alone behind the size": "5\nhello\r\n0\r\n\r\n",
        "LF alone behind the content": "5\r\nhello\n0\r\n\r\n",
        "CR alone behind the size": "5\rhello\r\n0\r\n\r\n",
        "more content than its size": "5\r\nhello!\r\n0\r\n\r\n",
        "LF alone at the end": "5\r\nhello\r\n0\n\n",
        "LF in an extension": "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "CR in an extension": "5;a\rb\r\nhello\r\n0\r\n\r\n",
        "NUL in an extension": "5;a\0\r\nhello\r\n0\r\n\r\n",
        "a trailer without a colon": "0\r\nX-A\r\n\r\n",
        "a trailer with a space in its name": "0\r\nX A: b\r\n\r\n",
        "a trailer of framing": "0\r\nContent-Length: 5\r\n\r\n",
        "a trailer of routing": "0\r\nHost: other.example\r\n\r\n"}.items():
    refused(f"chunks: {_name}", chunked(_body))
refused("an expectation that nobody knows", get("Expect: miracles\r\n"), 417, 417)
refused("HTTP/2's preface of another version", "PRI * HTTP/1.1\r\n\r\n")
refused("a TLS handshake",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n")


@case(SUITE, "an answer to HEAD has no body, and the next request its own answer")
def head_then_get(site):
    with site.connect() as connection:
        connection.send_bytes(as_bytes(get(method="HEAD") + get(target="/second")))
        answers = Answers(connection)
        answers.next(to_head=True)
        second = answers.next()
        if second is None or b"/second" not in second.body:
            raise Failed("the second answer is not the second request's")


@case(SUITE, "pipelined requests are answered in their order")
def pipelined(site):
    with site.connect() as connection:
        connection.send_bytes(b"".join(
            as_bytes(get(target=f"/p{index}")) for index in range(50)))
        answers = Answers(connection)
        for index in range(50):
            answer = answers.next()
            if answer is None or f"GET /p{index} 0\n".encode() != answer.body:
                raise Failed(f"answer {index}: {answer and answer.body!r}")


@case(SUITE, "100 Continue comes before the body does")
def continues(site):
    with site.connect() as connection:
        connection.send_bytes(as_bytes(post("Expect: 100-continue\r\nContent-Length: 5\r\n")))
        received = connection.receive_bytes()
        if not received.startswith(b"HTTP/1.1 100 "):
            raise Failed(f"{received!r}")
        connection.send_bytes(b"hello")
        answer = Answers(connection).next()
        if answer.status != 200:
            raise Failed(f"{answer.status}")


@case(SUITE, "fields of this connection stay here")
def hop_by_hop(site):
    token = "/hop-by-hop"
    exchange(site, get("Connection: X-Mine\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\n"
                       "TE: trailers\r\nProxy-Connection: x\r\n", target=token))
    requests, _ = site.upstream.seen(token)
    names = {name.lower() for name, _ in requests[0].fields}
    left = names & {b"x-mine", b"keep-alive", b"te", b"proxy-connection", b"upgrade"}
    if left:
        raise Failed(f"passed on: {left}")


@case(SUITE, "a request for Upgrade: h2c is answered in HTTP/1.1")
def no_h2c(site):
    answer, _ = exchange(site, get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                                   "HTTP2-Settings: AAMAAABkAAQAAP__\r\n", target="/h2c"))
    if answer.status == 101:
        raise Failed("switched")
    requests, _ = site.upstream.seen("/h2c")
    if any(request.values(b"upgrade") or request.values(b"http2-settings")
           for request in requests):
        raise Failed("passed on to the upstream")
