"""Connections that say anything: bytes of HTTP/1.1, frames of HTTP/2, clear or over TLS."""

import socket
import ssl
import struct
import time

import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, \
    CONTINUATION = range(10)
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
PRIORITISED = 0x20

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, \
    FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, \
    ENHANCE_YOUR_CALM = range(12)

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, \
    MAX_HEADER_LIST_SIZE = range(1, 7)

# What a busy machine may take; nothing that passes waits for it.
PATIENCE = 120


class Failed(Exception):
    """What a case found wrong."""


def word(value):
    return struct.pack(">I", value)


class Frame:
    """One frame, valid or not; `length` may be a lie."""

    def __init__(self, kind, flags=0, stream=0, payload=b"", length=None):
        self.kind, self.flags, self.stream, self.payload = kind, flags, stream, bytes(payload)
        self.length = len(payload) if length is None else length

    def __bytes__(self):
        head = struct.pack(">I", self.length)[1:] + bytes([self.kind, self.flags])
        return head + word(self.stream) + self.payload

    def word(self, offset=0):
        return struct.unpack_from(">I", self.payload, offset)[0]

    def __repr__(self):
        return f"frame {self.kind} flags {self.flags:#x} stream {self.stream} {self.payload[:40]!r}"


def settings(*pairs):
    return Frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in pairs))


def ping(payload=b"conforms", flags=0, stream=0):
    return Frame(PING, flags, stream, payload)


def reset(stream, code=CANCEL):
    return Frame(RST_STREAM, 0, stream, word(code))


def window_update(stream, increment):
    return Frame(WINDOW_UPDATE, 0, stream, word(increment))


def priority(stream, dependency=0, weight=15, exclusive=False):
    return Frame(PRIORITY, 0, stream, word(dependency | exclusive << 31) + bytes([weight]))


def goaway(last=0, code=NO_ERROR, stream=0):
    return Frame(GOAWAY, 0, stream, word(last) + word(code))


def data(stream, payload=b"", end=True, flags=0):
    return Frame(DATA, flags | (END_STREAM if end else 0), stream, payload)


def literal(name, value, prefix=0):
    """A field as HPACK's literal with a new name, never in the table, whatever its bytes are."""
    def text(of):
        of = of if isinstance(of, bytes) else of.encode("latin-1")
        return integer(len(of), 7) + of
    return bytes([prefix]) + text(name) + text(value)


def integer(value, bits, first=0):
    """RFC 7541 section 5.1."""
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([first | value])
    out, value = [first | limit], value - limit
    while value >= 128:
        out.append(value % 128 | 128)
        value //= 128
    return bytes(out + [value])


def block(fields):
    return b"".join(literal(name, value) for name, value in fields)


class Closed(Exception):
    """The server has ended the connection."""


class Connection:
    """A socket that waits for answers with patience, and knows when the server has gone."""

    def __init__(self, address, tls=None, receive_buffer=None, alpn=None, before=b""):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(before)
        if tls:
            self.socket = client_context(alpn or []).wrap_socket(
                self.socket, server_hostname="localhost")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send_bytes(self, payload):
        """A server that has gone shows when it is read from."""
        try:
            self.socket.sendall(payload)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            pass

    def receive_bytes(self, count=65536, within=PATIENCE):
        """At most `count` bytes; empty at the end. Raises Failed where nothing comes."""
        self.socket.settimeout(max(0.001, within))
        try:
            return self.socket.recv(count)
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionResetError, BrokenPipeError):
            return b""
        except ssl.SSLError as error:
            if "timed out" in str(error):
                raise Failed("nothing came") from None
            return b""
        except (socket.timeout, TimeoutError):
            raise Failed("nothing came") from None
        finally:
            try:
                self.socket.settimeout(PATIENCE)
            except OSError:
                pass

    def receive_to_end(self, within=PATIENCE):
        """All that comes until the server closes."""
        until, received = time.monotonic() + within, b""
        while True:
            try:
                piece = self.receive_bytes(within=until - time.monotonic())
            except Failed:
                raise Failed(f"not closed after {received[:120]!r}") from None
            if not piece:
                return received
            received += piece


def client_context(alpn, low=None, high=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if alpn:
        context.set_alpn_protocols(alpn)
    if low:
        context.minimum_version, context.maximum_version = low, high
    return context


class Peer(Connection):
    """An HTTP/2 client without manners."""

    def __init__(self, address, tls=None, first=(), handshake=True, authority="conform.example",
                 receive_buffer=None, before=b""):
        super().__init__(address, tls, receive_buffer, ["h2"], before)
        self.pending = b""
        self.scheme, self.authority = ("https" if tls else "http"), authority
        self.decoder = hpack.Decoder()
        self.server_settings = {}
        self.streams_opened = 0
        if handshake:
            self.handshake(first)

    def handshake(self, first=()):
        """Preface and SETTINGS both ways, and both acknowledged."""
        self.send_bytes(PREFACE)
        self.send(settings(*first))
        is_known = is_acknowledged = False
        while not (is_known and is_acknowledged):
            frame = self.receive()
            if frame.kind == SETTINGS and frame.flags & ACK:
                is_acknowledged = True
            elif frame.kind == SETTINGS:
                is_known = True
                for offset in range(0, len(frame.payload), 6):
                    self.server_settings.update([struct.unpack_from(">HI", frame.payload, offset)])
                self.send(Frame(SETTINGS, ACK))

    def send(self, *frames):
        self.send_bytes(b"".join(map(bytes, frames)))

    def fields(self, method="GET", path="/", more=()):
        return [(":method", method), (":scheme", self.scheme), (":path", path),
                (":authority", self.authority), *more]

    def headers(self, stream=1, end=True, method="GET", path="/", more=(), fields=None,
                raw=None, end_headers=True):
        payload = raw if raw is not None else block(fields or self.fields(method, path, more))
        flags = (END_STREAM if end else 0) | (END_HEADERS if end_headers else 0)
        return Frame(HEADERS, flags, stream, payload)

    def receive(self, within=PATIENCE):
        """The next frame. Raises Closed at the end of the connection."""
        until = time.monotonic() + within
        while True:
            if len(self.pending) >= 9:
                length = int.from_bytes(self.pending[:3], "big")
                if len(self.pending) >= 9 + length:
                    frame = Frame(
                        self.pending[3], self.pending[4],
                        int.from_bytes(self.pending[5:9], "big") & 0x7FFFFFFF,
                        self.pending[9:9 + length])
                    self.pending = self.pending[9 + length:]
                    return frame
            piece = self.receive_bytes(within=until - time.monotonic())
            if not piece:
                raise Closed()
            self.pending += piece

    # What h2spec's verifications are: a connection that is closed has said enough, and every
    # error of a stream may be one of the connection.

    def expect_connection_error(self, *codes):
        """GOAWAY with one of these codes, or an end without a word."""
        try:
            while True:
                frame = self.receive()
                if frame.kind == GOAWAY:
                    if frame.word(4) not in codes:
                        raise Failed(f"GOAWAY with {frame.word(4)}, not {codes}")
                    return
        except Closed:
            return

    def expect_stream_error(self, *codes, or_refusal=False):
        """RST_STREAM with one of these codes, or as expect_connection_error; with `or_refusal` a
        status that tells of the client's mistake will do as well."""
        try:
            while True:
                frame = self.receive()
                if frame.kind == HEADERS and frame.flags & END_HEADERS:
                    status = dict(self.decoder.decode(frame.payload)).get(":status", "")
                    if or_refusal and status.startswith("4"):
                        return
                    if or_refusal:
                        raise Failed(f"answered {status}")
                if frame.kind not in (GOAWAY, RST_STREAM):
                    continue
                code = frame.word(4 if frame.kind == GOAWAY else 0)
                if code not in codes:
                    raise Failed(f"{frame} with {code}, not {codes}")
                return
        except Closed:
            return

    def expect_close(self):
        self.receive_to_end()

    def expect(self, what, matches):
        try:
            while True:
                frame = self.receive()
                if matches(frame):
                    return frame
                if frame.kind in (GOAWAY, RST_STREAM):
                    raise Failed(f"{frame} instead of {what}")
        except Closed:
            raise Failed(f"closed instead of {what}") from None

    def expect_ping_answer(self, payload=b"conforms"):
        self.send(ping(payload))
        self.expect("an answer to PING", lambda frame: frame.kind == PING and frame.flags & ACK
                    and frame.payload == payload)

    def expect_head(self, stream):
        """The fields of the answer on a stream; those of interim answers are passed over."""
        return self.answer(stream, until_head=True)[0]

    def expect_data(self, stream, length):
        frame = self.expect("DATA", lambda frame: frame.kind == DATA and frame.stream == stream)
        if len(frame.payload) != length:
            raise Failed(f"DATA of {len(frame.payload)}, not {length} bytes")
        return frame

    def answer(self, stream, until_head=False):
        """The whole answer on a stream: fields, content, trailers."""
        head, content, trailers, payload, flags = None, b"", None, b"", 0
        while True:
            frame = self.expect(
                f"an answer on stream {stream}", lambda frame: frame.stream == stream
                and frame.kind in (HEADERS, CONTINUATION, DATA))
            if len(frame.payload) > 16384:
                raise Failed(f"a frame of {len(frame.payload)} bytes, beyond our limit")
            if frame.kind == DATA:
                content += frame.payload
                if frame.payload and not until_head:
                    self.send(window_update(0, len(frame.payload)),
                              window_update(stream, len(frame.payload)))
                if frame.flags & END_STREAM:
                    return head, content, trailers
                continue
            flags = frame.flags if frame.kind == HEADERS else flags
            payload = frame.payload if frame.kind == HEADERS else payload + frame.payload
            if not frame.flags & END_HEADERS:
                continue
            fields = self.decoder.decode(payload)
            status = dict(fields).get(":status")
            if status and status[0] == "1":
                continue
            if head is None:
                head = fields
            else:
                trailers = fields
            if until_head or flags & END_STREAM:
                return head, content, trailers

    def exchange(self, stream=1, **about):
        self.send(self.headers(stream, **about))
        return self.answer(stream)

    def expect_served(self, stream):
        """An answer of any status, whole."""
        head, _, _ = self.answer(stream)
        if not dict(head).get(":status"):
            raise Failed(f"no :status in {head}")
        return head
