"""The server behind the one that is judged: keeps every byte, and reads it by the letter."""

import re
import socket
import threading

TOKEN = re.compile(rb"^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$")
LINE = re.compile(rb"^[\t\x20-\x7e\x80-\xff]*$")


class Ambiguous(Exception):
    """Bytes that servers may read differently."""


class Request:
    """A request as it was read: in the one way in which it can be read."""

    def __init__(self, line, fields, body):
        self.line, self.fields, self.body = line, fields, body

    def values(self, name):
        return [value for key, value in self.fields if key.lower() == name]

    @property
    def method(self):
        return self.line.split(b" ")[0].decode("latin-1")

    @property
    def target(self):
        return self.line.split(b" ")[1].decode("latin-1")


def folded(name):
    """How a server might read a name that takes underscores for hyphens."""
    return name.lower().replace(b"_", b"-")


def framing(fields):
    """The length of a body, or None for chunks; where there could be two, there is none."""
    likes = {b"content-length": [], b"transfer-encoding": []}
    for name, value in fields:
        if folded(name) in likes:
            likes[folded(name)].append((name, value))
    lengths, codings = likes[b"content-length"], likes[b"transfer-encoding"]
    if len(lengths) + len(codings) > 1:
        raise Ambiguous(f"two framings: {lengths} {codings}")
    for name, _ in lengths + codings:
        if name.lower() not in (b"content-length", b"transfer-encoding"):
            raise Ambiguous(f"a framing in disguise: {name!r}")
    if codings:
        if codings[0][1].lower() != b"chunked":
            raise Ambiguous(f"a coding: {codings[0][1]!r}")
        return None
    if lengths:
        if not lengths[0][1].isdigit():
            raise Ambiguous(f"a length: {lengths[0][1]!r}")
        return int(lengths[0][1])
    return 0


class Reader:
    """Requests off a socket."""

    def __init__(self, connection, keep):
        self.connection, self.keep, self.pending = connection, keep, b""

    def more(self):
        piece = self.connection.recv(65536)
        self.keep(piece)
        self.pending += piece
        return bool(piece)

    def line(self):
        while b"\n" not in self.pending:
            if not self.more():
                return None
        line, self.pending = self.pending.split(b"\n", 1)
        if not line.endswith(b"\r") or not LINE.match(line[:-1]):
            raise Ambiguous(f"a line: {line!r}")
        return line[:-1]

    def take(self, count):
        while len(self.pending) < count:
            if not self.more():
                raise Ambiguous("a body that breaks off")
        taken, self.pending = self.pending[:count], self.pending[count:]
        return taken

    def chunks(self):
        body = b""
        while True:
            size = self.line() or b""
            if not re.match(rb"^[0-9a-fA-F]{1,8}$", size):
                raise Ambiguous(f"a chunk's size: {size!r}")
            if int(size, 16) == 0:
                while self.line():
                    pass
                return body
            body += self.take(int(size, 16))
            if self.line() != b"":
                raise Ambiguous("a chunk without its end")

    def request(self):
        """None at the end."""
        line = self.line()
        if line is None:
            return None
        words = line.split(b" ")
        if len(words) != 3 or words[2] not in (b"HTTP/1.1", b"HTTP/1.0") or not all(words) \
                or not TOKEN.match(words[0]) or re.search(rb"[\x00-\x20\x7f#]", words[1]):
            raise Ambiguous(f"a request line: {line!r}")
        fields = []
        while (text := self.line()) != b"":
            if text is None:
                raise Ambiguous("a head that breaks off")
            name, colon, value = text.partition(b":")
            if not colon or not TOKEN.match(name):
                raise Ambiguous(f"a field: {text!r}")
            fields.append((name, value.strip(b" \t")))
        if sum(name.lower() == b"host" for name, _ in fields) != 1:
            raise Ambiguous(f"not one Host: {fields}")
        length = framing(fields)
        if any(name.lower() == b"expect" for name, _ in fields):
            self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = self.chunks() if length is None else self.take(length)
        return Request(line, fields, body)


class Upstream:
    """Answers `METHOD TARGET LENGTH`, or as many bytes as `/large/N` asks for."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.requests, self.faults, self.bytes = [], [], []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        kept = bytearray()
        with self.lock:
            self.bytes.append(kept)
        try:
            reader = Reader(connection, kept.extend)
            while request := reader.request():
                with self.lock:
                    self.requests.append(request)
                if not self.answer(connection, request):
                    break
        except Ambiguous as fault:
            with self.lock:
                self.faults.append((str(fault), bytes(kept)))
            try:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n"
                                   b"Connection: close\r\n\r\n")
            except OSError:
                pass
        except OSError:
            pass
        finally:
            connection.close()

    def answer(self, connection, request):
        """False where the connection ends."""
        if request.target.startswith("/large/"):
            left = int(request.target.split("/")[2])
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % left)
            while left > 0:
                left -= connection.send(b"." * min(left, 65536))
            return True
        text = f"{request.method} {request.target} {len(request.body)}\n".encode("latin-1")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
        connection.sendall(head % len(text) + (b"" if request.method == "HEAD" else text))
        return b"close" not in [value.lower() for value in request.values(b"connection")]

    def seen(self, token):
        """The requests that hold this token anywhere but in their content, and the faults that
        do anywhere."""
        token = token.encode() if isinstance(token, str) else token
        with self.lock:
            requests = [each for each in self.requests if token in each.line
                        or any(token in name + value for name, value in each.fields)]
            faults = [fault for fault, kept in self.faults if token in kept]
        return requests, faults
