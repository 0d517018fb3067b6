"""The servers behind the gateways of a soak: an API, a gRPC service, stores that can be hurt."""

import base64
import collections
import hashlib
import http.server
import os
import signal
import subprocess
import threading
import time
from concurrent import futures

import grpc
import stores
import testbed

DOWN_AFTER_MS = 1000
WEBSOCKET_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Upstream(http.server.BaseHTTPRequestHandler):
    """The API: it counts the nonces it gets, and echoes what comes through a WebSocket."""
    protocol_version = "HTTP/1.1"
    forwarded = collections.Counter()
    lock = threading.Lock()

    def do_POST(self):  # pylint: disable=invalid-name
        """Reads all, counts, and answers 200, or becomes a tunnel."""
        if self.headers.get("Upgrade") == "websocket":
            self.echo()
            return
        length = int(self.headers.get("Content-Length", 0))
        while length > 0:
            length -= len(self.rfile.read(min(length, 1 << 16)) or b"x" * length)
        nonce = self.headers.get("X-Soak-Nonce")
        if nonce:
            with self.lock:
                self.forwarded[nonce] += 1
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    do_GET = do_POST

    def echo(self):
        """Sends back each byte until the other end closes."""
        key = self.headers["Sec-WebSocket-Key"].encode()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(
            hashlib.sha1(key + WEBSOCKET_GUID).digest()).decode())
        self.end_headers()
        self.close_connection = True
        while piece := self.connection.recv(4096):
            self.connection.sendall(piece)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        """Says nothing."""


class Server(http.server.ThreadingHTTPServer):
    """The API's server, without a word on connections that end."""
    daemon_threads = True

    def handle_error(self, *_):  # pylint: disable=arguments-differ
        """Gateways close connections as they like."""


def start_api(port):
    """The API, in a thread."""
    server = Server(("127.0.0.1", port), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def start_grpc(port):
    """A service with one call, which streams back what is streamed to it."""
    def echo(messages, _):
        yield from messages

    handler = grpc.method_handlers_generic_handler(
        "soak.Echo", {"Stream": grpc.stream_stream_rpc_method_handler(echo)})
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    server.add_generic_rpc_handlers((handler,))
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server


class Redises:
    """A master, a replica and the Sentinel that puts one in place of the other."""

    def __init__(self, bed):
        self.bed = bed
        self.lock = threading.Lock()
        *self.ports, self.sentinel_port = testbed.free_ports(3)
        self.servers = {}
        self.start(self.ports[0])
        self.start(self.ports[1], "--replicaof", "127.0.0.1", str(self.ports[0]))
        path = bed.write("sentinel.conf", f"""
port {self.sentinel_port}
bind 127.0.0.1
dir {bed.folder}
sentinel monitor main 127.0.0.1 {self.ports[0]} 1
sentinel down-after-milliseconds main {DOWN_AFTER_MS}
sentinel failover-timeout main 3000
""")
        bed.start("sentinel", ["redis-server", path, "--sentinel"])
        while self.master() not in self.servers:
            time.sleep(0.05)

    def start(self, port, *options):
        """A Redis without persistence: each start has forgotten all."""
        self.servers[port] = self.bed.start(f"redis-{port}", [
            "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
            "--appendonly", "no", "--repl-diskless-sync-delay", "0", *options])

    def settings(self):
        """For `counters`."""
        return ("{ redis: { sentinel: { master: main, addresses: "
                f'["127.0.0.1:{self.sentinel_port}"] }} }} }}')

    def master(self):
        """The port of the master, as Sentinel has it."""
        answer = subprocess.run(
            ["redis-cli", "-p", str(self.sentinel_port), "sentinel", "get-master-addr-by-name",
             "main"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        lines = answer.stdout.split()
        return int(lines[1]) if len(lines) == 2 else 0

    def lose(self, which, seconds):
        """Kills the `which`, master or all, and starts each anew some seconds later."""
        with self.lock:
            ports = self.ports if which == "all" else [self.master()]
            for port in ports:
                server = self.servers[port]
                server.kill()
                self.bed.end(server)
            time.sleep(seconds)
            for port in ports:
                self.start(port)

    def pause(self, seconds):
        """Stops the master. Sentinel may put the other in its place meanwhile: then two run that
        think they are it, for a moment."""
        with self.lock:
            server = self.servers[self.master()]
            server.send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            server.send_signal(signal.SIGCONT)


class Registry(stores.Postgres):
    """PostgreSQL, which can be shut down."""

    def restart(self, number, seconds):
        """Ends it by a signal (SIGINT: at once; SIGQUIT: as by a crash), and starts it again."""
        # Not to what changed the user for it, which hands on no signals.
        with open(os.path.join(self.folder, "postmaster.pid"), encoding="ascii") as file:
            os.kill(int(file.readline()), number)
        self.process.wait(testbed.END_SECONDS)
        self.bed.end(self.process)
        time.sleep(seconds)
        self.start()
