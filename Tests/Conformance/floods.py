"""Clients that cost more than they pay: floods of frames, bombs, work that is thrown away.

Each must find an end, with little memory spent and the other clients served. The CVEs are those of
other servers, by which the kinds are known.
"""

from cases import case
from wire import (
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, PADDED,
    PATIENCE, PRIORITY, Closed, Failed, Frame, block, data, integer, literal, ping, priority, reset,
    settings, window_update)

SUITE = "floods"
# More than any client needs of any of these; less than a second's work.
COUNT = 20_000
BATCH = 200
# How long a server that has been sent all may take to end the connection.
GRACE = 10
GROWTH_MIB = 48


def next_client(site):
    with site.connect() as connection:
        connection.send_bytes(b"GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        if b" 200 " not in connection.receive_to_end()[:20]:
            raise Failed("another client was not served")


def flood(peer, frames):
    """Sends batch after batch until the server ends the connection; how many frames that took."""
    count, batch = 0, []

    def has_gone():
        # Reads as it goes: what is judged is the count, not a full socket.
        try:
            while True:
                if peer.receive(within=0.001).kind == GOAWAY:
                    return True
        except Closed:
            return True
        except Failed:
            return False

    for frame in frames:
        batch.append(bytes(frame))
        if len(batch) == BATCH:
            peer.send_bytes(b"".join(batch))
            count, batch = count + BATCH, []
            if has_gone():
                return count
    peer.send_bytes(b"".join(batch))
    count += len(batch)
    # On one processor the server may not have read any of it yet.
    try:
        while peer.receive(within=GRACE).kind != GOAWAY:
            pass
        return count
    except Closed:
        return count
    except Failed:
        raise Failed(f"{count} were taken") from None


def flooded(name, make, first=()):
    """`make` gives frames for a peer; the connection must end."""
    @case(SUITE, name)
    def run(site):
        before = site.resident_mib()
        with site.peer(first=first) as peer:
            flood(peer, make(peer))
        next_client(site)
        if (grown := site.resident_mib() - before) > GROWTH_MIB:
            raise Failed(f"{grown:.0f} MiB more")


def again(*frames):
    return lambda peer: (frame for _ in range(COUNT) for frame in frames)


def behind(first, *frames):
    """The same behind frames that open something."""
    def make(peer):
        yield from first(peer)
        for _ in range(COUNT):
            yield from frames
    return make


def opened(peer):
    return [peer.headers(1, end=False, method="POST")]


def unended(peer):
    return [peer.headers(1, end_headers=False)]


def streams(frames):
    """`frames` of each of ten thousand streams."""
    return lambda peer: (frame for stream in range(1, COUNT, 2) for frame in frames(peer, stream))


flooded("PING (CVE-2019-9512)", again(ping()))
flooded("SETTINGS (CVE-2019-9515)", again(settings()))
flooded("SETTINGS that change a window", again(settings((4, 1000)), settings((4, 2000))))
flooded("SETTINGS that change the table", again(settings((1, 0)), settings((1, 4096))))
flooded("SETTINGS of many entries", again(settings(*[(0xFF, 1)] * 2000)))
flooded("PRIORITY (CVE-2019-9513)", lambda peer: (
    priority(3 + 2 * (index % 50), 1 + 2 * ((index + 7) % 50)) for index in range(COUNT)
    if 3 + 2 * (index % 50) != 1 + 2 * ((index + 7) % 50)))
flooded("DATA of nothing (CVE-2019-9518)", behind(opened, data(1, b"", False)))
flooded("DATA of padding", behind(opened, Frame(DATA, PADDED, 1, b"\0")))
flooded("CONTINUATION of nothing (CVE-2019-9518)", behind(unended, Frame(CONTINUATION, 0, 1)))
flooded("CONTINUATION (CVE-2024-27316)",
        behind(unended, Frame(CONTINUATION, 0, 1, literal("x-a", "b"))))
flooded("CONTINUATION of one large field", lambda peer: [
    Frame(HEADERS, END_STREAM, 1, block(peer.fields()) + b"\0\3x-a\x7f\xff\xff\xff\x07"),
    *[Frame(CONTINUATION, 0, 1, b"a" * 1000)] * COUNT])
flooded("WINDOW_UPDATE of the connection", again(window_update(0, 1)))
flooded("WINDOW_UPDATE of a stream", behind(opened, window_update(1, 1)))
flooded("WINDOW_UPDATE of streams that are gone", lambda peer: [
    peer.headers(1), *[window_update(1, 1)] * COUNT])
flooded("frames that nobody knows", again(Frame(0xEE, 0, 0, b"a")))
flooded("PRIORITY_UPDATE", again(Frame(0x10, 0, 0, b"\0\0\0\1u=1")))
flooded("requests that are reset (CVE-2023-44487)",
        streams(lambda peer, stream: [peer.headers(stream), reset(stream)]))
flooded("bodies that are reset", streams(lambda peer, stream: [
    peer.headers(stream, end=False, method="POST"), data(stream, b"a", False), reset(stream)]))
flooded("RST_STREAM of streams that are gone", lambda peer: [
    peer.headers(1), *[reset(1)] * COUNT])

# Streams that the server is made to reset (CVE-2019-9514, CVE-2025-8671).
MADE = {
    "a window beyond the largest": lambda peer, stream: [
        peer.headers(stream, end=False, method="POST"), window_update(stream, 0x7FFFFFFF)],
    "an increment of 0": lambda peer, stream: [
        peer.headers(stream, end=False, method="POST"), window_update(stream, 0)],
    "PRIORITY of another size": lambda peer, stream: [
        peer.headers(stream, end=False, method="POST"), Frame(PRIORITY, 0, stream, b"1")],
    "PRIORITY on itself": lambda peer, stream: [
        peer.headers(stream), priority(stream, stream)],
    "another length": lambda peer, stream: [
        peer.headers(stream, end=False, method="POST", more=[("content-length", "1")]),
        data(stream, b"test")],
    "a name in upper case": lambda peer, stream: [peer.headers(stream, more=[("X", "y")])],
    "trailers that do not end": lambda peer, stream: [
        peer.headers(stream, end=False, method="POST"),
        peer.headers(stream, end=False, fields=[("x-a", "b")])],
    "DATA behind the end": lambda peer, stream: [peer.headers(stream), data(stream, b"a")],
    "more streams than were offered": lambda peer, stream: [
        peer.headers(stream, end=False, method="POST")],
}
for _name, _frames in MADE.items():
    flooded(f"streams reset for {_name}", streams(_frames))


@case(SUITE, "requests that are reset cost the upstream little")
def upstream_work(site):
    with site.peer() as peer:
        try:
            flood(peer, streams(lambda peer, stream: [
                peer.headers(stream, path="/rapid"), reset(stream)])(peer))
        except Failed:
            pass
    next_client(site)
    requests, _ = site.upstream.seen("/rapid")
    if len(requests) > 1000:
        raise Failed(f"{len(requests)} requests reached the upstream")


def bounded(name, payload):
    """A header block that grows as it is read: refused, with little memory spent."""
    @case(SUITE, name)
    def run(site):
        before = site.resident_mib()
        with site.peer() as peer:
            raw = payload(peer)
            pieces = [raw[at:at + 16000] for at in range(0, len(raw), 16000)]
            frames = [Frame(HEADERS, END_STREAM, 1, pieces[0])]
            frames += [Frame(CONTINUATION, 0, 1, piece) for piece in pieces[1:]]
            frames[-1].flags |= END_HEADERS
            peer.send(*frames)
            try:
                head, _, _ = peer.answer(1)
                if dict(head)[":status"] < "400":
                    raise Failed(f"answered {head}")
            except (Closed, Failed) as end:
                if "answered" in str(end):
                    raise
        next_client(site)
        if (grown := site.resident_mib() - before) > GROWTH_MIB:
            raise Failed(f"{grown:.0f} MiB more")


# One large entry of the table, and a byte for each time that it is meant.
bounded("an HPACK bomb (CVE-2016-6581)", lambda peer: block(peer.fields()) + literal(
    "x-a", "b" * 3900, 0x40) + b"\xbe" * 12000)
bounded("an HPACK bomb over several frames", lambda peer: block(peer.fields()) + literal(
    "x-a", "b" * 3900, 0x40) + b"\xbe" * 60000)
bounded("a bomb of cookies", lambda peer: block(peer.fields()) + literal(
    "cookie", "b" * 3000, 0x40) + b"\xbe" * 12000)
bounded("fields without name and value (CVE-2019-9516)",
        lambda peer: block(peer.fields()) + b"\0\0\0" * 5000)
bounded("fifteen thousand fields of a byte", lambda peer: block(peer.fields()) + literal(
    "a", "", 0x40) + b"\xbe" * 15000)
bounded("a name of 100 KiB", lambda peer: block(peer.fields()) + literal("a" * 100_000, "b"))


@case(SUITE, "bombs again and again")
def bombs(site):
    before = site.resident_mib()
    bomb = literal("x-a", "b" * 3900, 0x40) + b"\xbe" * 3000
    with site.peer() as peer:
        flood(peer, (peer.headers(stream, raw=block(peer.fields()) + bomb)
                     for stream in range(1, 20_000, 2)))
    next_client(site)
    if (grown := site.resident_mib() - before) > GROWTH_MIB:
        raise Failed(f"{grown:.0f} MiB more")


@case(SUITE, "table sizes that change with each block")
def table_sizes(site):
    with site.peer() as peer:
        for stream in range(1, 400, 2):
            raw = integer(0, 5, 0x20) + integer(4096, 5, 0x20) + block(peer.fields())
            peer.send(peer.headers(stream, raw=raw))
            peer.answer(stream)


@case(SUITE, "windows wide open and nothing read (CVE-2019-9517)")
def unread(site):
    before = site.resident_mib()
    with site.peer(first=[(INITIAL_WINDOW_SIZE, 0x7FFFFFFF)], receive_buffer=4096) as peer:
        peer.send(window_update(0, 0x7FFF0000), *(
            peer.headers(stream, path="/large/20000000") for stream in range(1, 101, 2)))
        next_client(site)
        for _ in range(20):
            next_client(site)
        if (grown := site.resident_mib() - before) > GROWTH_MIB:
            raise Failed(f"{grown:.0f} MiB more")


@case(SUITE, "windows opened by a byte at a time (CVE-2019-9511)")
def data_dribble(site):
    before = site.resident_mib()
    with site.peer(first=[(INITIAL_WINDOW_SIZE, 0)]) as peer:
        peer.send(*(peer.headers(stream, path="/large/1000000") for stream in range(1, 101, 2)))
        try:
            flood(peer, (window_update(1 + 2 * (index % 50), 1) for index in range(COUNT)))
        except Failed:
            # Served byte by byte is no harm as long as it is not queued.
            pass
        next_client(site)
    if (grown := site.resident_mib() - before) > GROWTH_MIB:
        raise Failed(f"{grown:.0f} MiB more")


@case(SUITE, "a body in frames of a byte")
def small_frames(site):
    with site.peer() as peer:
        peer.send(peer.headers(1, end=False, method="POST"))
        peer.send_bytes(bytes(data(1, b"a", False)) * 20_000 + bytes(data(1, b"a")))
        head, content, _ = peer.answer(1)
        if dict(head)[":status"] != "200" or b" 20001\n" not in content:
            raise Failed(f"{head} {content!r}")


# 501: of a method longer than any that is known (RFC 9112 section 3).
REFUSED = (b"HTTP/1.1 4", b"HTTP/1.1 501")


def http1(name, text, must_end=True):
    """Bytes of HTTP/1.1 that must be refused, or bounded at least.

    Who refuses discards some of what still comes, and then closes: whether all could be sent by
    then, and the answer be read, is up to the kernels.
    """
    @case(SUITE, name)
    def run(site):
        before = site.resident_mib()
        with site.connect() as connection:
            connection.socket.settimeout(PATIENCE if must_end else 5)
            try:
                for piece in text:
                    connection.socket.sendall(piece)
            except OSError:
                pass
            try:
                received = connection.receive_bytes(within=PATIENCE if must_end else 5)
            except Failed:
                received = None
            if must_end and received != b"" and not (received or b"").startswith(REFUSED):
                raise Failed(f"was taken: {received!r:.60}")
        next_client(site)
        if (grown := site.resident_mib() - before) > GROWTH_MIB:
            raise Failed(f"{grown:.0f} MiB more")


POST = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
MIB = 1 << 20
http1("HTTP/1.1: an extension of 4 MiB", [POST + b"1;" + b"a" * 4 * MIB])
http1("HTTP/1.1: a thousand extensions of 4 KiB",
      [POST, *[b"1;" + b"a" * 4096 + b"\r\nb\r\n"] * 1000])
http1("HTTP/1.1: extensions that outweigh the content",
      [POST, *[(b"1;" + b"a" * 100 + b"\r\nb\r\n") * 100] * 500])
http1("HTTP/1.1: a chunk's size of 1 MiB of zeros", [POST + b"0" * MIB])
http1("HTTP/1.1: trailers of 4 MiB", [POST + b"0\r\n", *[b"X: " + b"a" * 1000 + b"\r\n"] * 4000])
http1("HTTP/1.1: one trailer of 4 MiB", [POST + b"0\r\nX: " + b"a" * 4 * MIB])
http1("HTTP/1.1: fields of 4 MiB", [b"GET / HTTP/1.1\r\nHost: a\r\n", *[
    b"X: " + b"a" * 1000 + b"\r\n"] * 4000])
http1("HTTP/1.1: a target of 4 MiB", [b"GET /" + b"a" * 4 * MIB])
http1("HTTP/1.1: a method of 4 MiB", [b"G" * 4 * MIB])
http1("HTTP/1.1: 4 MiB of empty lines", [b"\r\n" * 2 * MIB])
http1("HTTP/1.1: a length of 8 EiB", [
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n", b"a" * MIB])
http1("HTTP/1.1: ten thousand pipelined requests", [
    *[b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 100] * 100], must_end=False)


@case(SUITE, "HTTP/1.1: a body in chunks of a byte")
def small_chunks(site):
    with site.connect() as connection:
        connection.send_bytes(POST + b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n")
        if b" 20000\n" not in (answer := connection.receive_bytes()):
            raise Failed(f"{answer!r}")


@case(SUITE, "TLS: a thousand connections that break off")
def handshakes(site):
    for index in range(1000):
        with site.connect(site.tls_port) as connection:
            connection.send_bytes(b"\x16\x03\x01\x02\x00\x01" if index % 2 else b"")
    next_client(site)
