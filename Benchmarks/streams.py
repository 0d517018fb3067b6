"""Event streams through the gateway, with and without a quota that reads them, beside nginx: the
time to the first event, how late events are, and processor time; prints tables, writes JSON."""

import os
import re
import selectors
import socket
import time
import urllib.request

import bench
import results
import testbed
from bench import ROUND_SECONDS, ROUNDS

STREAMS = int(os.environ.get("STREAMS", "64"))
# Of each stream. A model writes some tens of tokens a second.
EVENTS_A_SECOND = 20
DIRECT, NGINX, PLAIN, COUNTED = (
    "no proxy", "nginx", "Sallyport", "Sallyport, a quota reads the events")
COUNTED_PATH, PLAIN_PATH = "/counted", "/plain"
# As long as the piece with a word in the usual form, with the time at which it was sent.
EVENT = ('data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-x","choices":[{'
         '"index":0,"delta":{"content":" word"},"finish_reason":null}],"usage":null,"at":%020d}\n\n')
TOKENS = 30
USAGE = ('data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-x","choices":[],'
         '"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":%d}}\n\n'
         'data: [DONE]\n\n' % TOKENS)
MARK = b'"at":'
MARK_DIGITS = 20
HEAD = ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
# What a request may take until its stream has begun, and a stream to its end.
PATIENCE_SECONDS = 30


def chunk(text):
    """A chunk of a body."""
    data = text.encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


class Client:
    """A client of one stream: when its events came, by the clock that they were sent by."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        self.unread = b""
        self.latencies = []
        self.first = None
        self.asked = 0
        self.is_ended = False

    def ask(self):
        """Sends its request. The connection is there already."""
        self.asked = time.monotonic_ns()
        self.socket.sendall(self.request)

    def has_begun(self):
        """True once an event has come."""
        return self.first is not None

    def read(self):
        """Takes what has come."""
        data = self.socket.recv(65536)
        now = time.monotonic_ns()
        if not data:
            raise testbed.Failure(f"a stream was cut: {self.unread!r}")
        self.unread += data
        if not self.latencies and b"\r\n" in self.unread and b" 200 " not in self.unread[:16]:
            raise testbed.Failure(f"a stream was refused: {self.unread!r}")
        while True:
            place = self.unread.find(MARK)
            end = place + len(MARK) + MARK_DIGITS
            if place < 0 or len(self.unread) < end:
                break
            self.latencies.append((now - int(self.unread[end - MARK_DIGITS:end])) / 1000)
            if self.first is None:
                self.first = (now - self.asked) / 1000
            self.unread = self.unread[end:]
        self.is_ended = self.unread.endswith(b"0\r\n\r\n")


class Run:
    """Streams that go on side by side, and both of their ends. One thread serves all of them, so
    that no thread waits for another one; the events of different streams are due one by one."""

    def __init__(self, listener, port, path):
        self.listener = listener
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ, self.accept)
        self.clients = [Client(port, path) for _ in range(STREAMS)]
        for client in self.clients:
            self.selector.register(client.socket, selectors.EVENT_READ, client.read)
        # The upstream's ends, in the order in which their requests came.
        self.streams = []
        self.accepted = {}

    def accept(self):
        """Takes a connection from the proxy, which may keep it for another request."""
        connection, _ = self.listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.accepted[connection] = b""
        self.selector.register(connection, selectors.EVENT_READ, lambda: self.begin(connection))

    def begin(self, connection):
        """Answers a request with the head and the first event at once."""
        data = connection.recv(65536)
        self.accepted[connection] += data
        if not data:
            self.selector.unregister(connection)
            connection.close()
            del self.accepted[connection]
        elif self.accepted[connection].endswith(b"\r\n\r\n"):
            self.accepted[connection] = b""
            self.streams.append(connection)
            connection.sendall(HEAD.encode() + self.event())

    @staticmethod
    def event():
        """An event that is sent now."""
        return chunk(EVENT % time.monotonic_ns())

    def wait(self, until):
        """Reads what comes until that time, and polls because sleeping would cost some time."""
        while True:
            for key, _ in self.selector.select(0):
                key.data()
            if time.monotonic_ns() >= until:
                return

    def wait_for(self, is_done):
        """Reads what comes until something is true."""
        limit = time.monotonic() + PATIENCE_SECONDS
        while not is_done():
            if time.monotonic() > limit:
                raise testbed.Failure("a stream did not begin or end")
            for key, _ in self.selector.select(0.001):
                key.data()

    def play(self, seconds):
        """Begins the streams one after another, keeps them going, and ends them."""
        for number, client in enumerate(self.clients):
            client.ask()
            self.wait_for(client.has_begun)
            if len(self.streams) != number + 1:
                raise testbed.Failure("a stream began twice")
        step = 1_000_000_000 // (EVENTS_A_SECOND * STREAMS)
        due = time.monotonic_ns()
        for number in range(EVENTS_A_SECOND * STREAMS * seconds):
            due += step
            self.wait(due)
            self.streams[number % STREAMS].sendall(self.event())
        for stream in self.streams:
            stream.sendall(chunk(USAGE) + b"0\r\n\r\n")
        self.wait_for(lambda: all(client.is_ended for client in self.clients))

    def end(self):
        """Closes all of its sockets but the listener."""
        for client in self.clients:
            client.socket.close()
        for connection in self.accepted:
            connection.close()
        self.selector.close()


class Sample:
    """The streams of one server in one round."""

    def __init__(self, run, seconds_used):
        events = sorted(late for client in run.clients for late in client.latencies[1:])
        wanted = EVENTS_A_SECOND * STREAMS * ROUND_SECONDS
        if len(events) != wanted:
            raise testbed.Failure(f"{len(events)} of {wanted} events came")
        firsts = sorted(client.first for client in run.clients)
        self.first = self.percentile(firsts, 50), self.percentile(firsts, 99)
        self.late = self.percentile(events, 50), self.percentile(events, 99)
        # With the beginning and the end of each stream.
        self.microseconds = (None if seconds_used is None
                             else seconds_used / (wanted + STREAMS) * 1e6)

    @staticmethod
    def percentile(ordered, share):
        """The smallest value that so many of a hundred do not exceed."""
        return ordered[max(0, -(-len(ordered) * share // 100) - 1)]

    def figures(self):
        """What was measured, by name."""
        known = {"first_p50_us": self.first[0], "first_p99_us": self.first[1],
                 "p50_us": self.late[0], "p99_us": self.late[1],
                 "processor_us_per_event": self.microseconds}
        return {name: value for name, value in known.items() if value is not None}


def start(bed, upstream):
    """nginx and a gateway before one upstream: of each subject the process, the port and a path;
    and the port of the admin listener."""
    nginx, port, admin = testbed.free_ports(3)
    nginx_process = bed.start_nginx(
        "nginx", nginx, f"""
            location = /ready {{ return 200; }}
            location / {{
                proxy_pass http://api;
                proxy_http_version 1.1;
                proxy_set_header Connection "";
                proxy_buffering off;
            }}
        """, bed.server_cpu, f"""
            upstream api {{
                server 127.0.0.1:{upstream};
                keepalive {testbed.IDLE_UPSTREAM_CONNECTIONS};
            }}
        """)
    bed.await_answer(nginx_process, f"http://127.0.0.1:{nginx}/ready")
    bed.configure_gateway(
        "gateway", port, admin, upstream,
        routes=f"  - {{ name: counted, path: {COUNTED_PATH}, upstream: api, quota: tokens, "
               "attest: { mode: off } }",
        more="""
crypto: { batch: off }
quotas:
  tokens: { by: address, per: day, limit: 900000G, of: { json: /usage/total_tokens } }
""")
    gateway, _ = bed.start_gateway("gateway", admin, bed.server_cpu)
    # Otherwise other programs would hold them up for some milliseconds now and then.
    if not all([testbed.prefer(nginx_process), testbed.prefer(gateway)]):
        print("Nothing can be given precedence: the 99th percentiles are the scheduler's.")
    subjects = {
        DIRECT: (None, upstream, PLAIN_PATH), NGINX: (nginx_process, nginx, PLAIN_PATH),
        PLAIN: (gateway, port, PLAIN_PATH), COUNTED: (gateway, port, COUNTED_PATH)}
    return subjects, admin


def sample(listener, process, port, path):
    """The streams of one round."""
    before = testbed.processor_seconds(process) if process else None
    run = Run(listener, port, path)
    try:
        run.play(ROUND_SECONDS)
        return Sample(run, testbed.processor_seconds(process) - before if process else None)
    finally:
        run.end()


def check_charges(admin):
    """Fails unless every stream on the counted path was charged its tokens."""
    with urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=5) as answer:
        page = answer.read().decode()
    charged = re.search(r'^sallyport_quota_charged_total\{quota="tokens"\} (\d+)', page, re.M)
    wanted = ROUNDS * STREAMS * TOKENS
    if not charged or int(charged.group(1)) != wanted:
        raise testbed.Failure(
            f"{charged.group(1) if charged else 'no'} tokens were charged, not {wanted}")


def report(samples):
    """A table of the figures, and one of the ratios in the rounds."""
    bench.table(
        f"{STREAMS} streams of {EVENTS_A_SECOND} events a second, {ROUNDS} rounds of "
        f"{ROUND_SECONDS} s, us",
        ("server", "first event p50", "first event p99", "event p50", "event p99",
         "processor an event"),
        *((name, *("" if None in each else bench.median(each) for each in zip(*(
            (*one.first, *one.late, one.microseconds) for one in rounds))))
          for name, rounds in samples.items()))
    pairs = [(NGINX, PLAIN), (NGINX, COUNTED), (PLAIN, COUNTED)]
    bench.table(
        "Compared, the first by the second: above 1, the second is better",
        ("servers", "first event p50", "event p50", "event p99", "processor an event"),
        *((f"{one} / {other}", *(bench.median(each) for each in zip(*(
            (a.first[0] / b.first[0], a.late[0] / b.late[0], a.late[1] / b.late[1],
             a.microseconds / b.microseconds)
            for a, b in zip(samples[one], samples[other])))))
          for one, other in pairs))


def measure(bed):
    """Each round measures each server once, in turn."""
    facts = testbed.announce(bed)
    with socket.create_server(("127.0.0.1", 0), backlog=STREAMS * 2) as listener:
        # The servers inherit the processors of this program, which needs its own.
        subjects, admin = start(bed, listener.getsockname()[1])
        os.sched_setaffinity(0, {bed.load_cpu})
        # A warm-up.
        sample(listener, *subjects[PLAIN])
        samples = {name: [] for name in subjects}
        for number in range(ROUNDS):
            for name in bench.turned(list(subjects), number):
                samples[name].append(sample(listener, *subjects[name]))
    check_charges(admin)
    report(samples)
    results.write(
        results.path("streams.json"), facts,
        {"rounds": ROUNDS, "round_seconds": ROUND_SECONDS, "streams": STREAMS,
         "events_a_second": EVENTS_A_SECOND},
        {name: [each.figures() for each in rounds] for name, rounds in samples.items()})
    return 0


if __name__ == "__main__":
    testbed.main(measure)
