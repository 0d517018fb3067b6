"""The servers that are judged: Sallyport, and nginx and HAProxy for comparison."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from upstream import Upstream
from wire import PATIENCE, Connection, Peer

# What a client may take at each step; attackers take longer.
LIMIT = "1s"


def free_ports(count):
    """Ports that nobody listens on; all are held until the last is known."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def end_with_parent():
    """For a child: nobody is left behind, however this process ends (prctl(2))."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Site:
    """A server of one kind with an upstream behind it; leaving it ends both."""

    # Whether the upstream's answers reach the client as they are.
    echoes = True

    def __init__(self, kind, program="sallyport", is_impatient=False):
        # It runs in a folder of its own.
        self.kind, self.program = kind, os.path.abspath(program)
        self.is_impatient = is_impatient
        self.is_tls = False
        self.process = None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="sallyport-conform-")
        self.upstream = Upstream()
        self.port, self.h2_port, self.tls_port, self.proxy_port, self.proxy_tls_port, \
            self.websocket_port, self.admin_port = free_ports(7)
        subprocess.run(
            ["openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-newkey", "ec",
             "-pkeyopt", "ec_paramgen_curve:P-256", "-keyout", self.path("key.pem"),
             "-out", self.path("certificate.pem")], check=True, capture_output=True)
        command = getattr(self, self.kind)()
        with open(self.path("log"), "wb") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, preexec_fn=end_with_parent)
        self.await_ports()
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def await_ports(self):
        until = time.monotonic() + PATIENCE
        for port in {self.port, self.h2_port, self.tls_port, self.proxy_port}:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    if time.monotonic() > until or self.process.poll() is not None:
                        raise SystemExit(f"{self.kind} does not start: {self.log()}") from None
                    time.sleep(0.02)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def log(self):
        with open(self.path("log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    # Clients

    def connect(self, port=None, **options):
        return Connection(("127.0.0.1", port or self.port), **options)

    def peer(self, **options):
        port = self.tls_port if self.is_tls else self.h2_port
        return Peer(("127.0.0.1", port), tls=self.is_tls, **options)

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)

    # Configurations

    def sallyport(self):
        self.h2_port = self.port
        impatience = f"""request_head: {LIMIT}, request_body: {LIMIT}, body_grace: {LIMIT},
    idle: {LIMIT}, send: {LIMIT}, tls_handshake: {LIMIT},""" if self.is_impatient else ""
        tls = (f"tls: {{ certificate: {self.path('certificate.pem')}, "
               f"key: {self.path('key.pem')} }}")
        path = self.write("sallyport.yaml", f"""
workers: 1
listeners:
  - {{ bind: 127.0.0.1:{self.port}, protocols: [http/1.1, h2] }}
  - bind: 127.0.0.1:{self.tls_port}
    {tls}
  - bind: 127.0.0.1:{self.proxy_port}
    protocols: [http/1.1, h2]
    proxy_protocol: {{ from: [127.0.0.1/32] }}
  - bind: 127.0.0.1:{self.proxy_tls_port}
    proxy_protocol: {{ from: [127.0.0.1/32] }}
    {tls}
apps: [{{ id: ABCDE12345.com.example.app }}]
registry: {{ sqlite: {self.path("registry.db")} }}
counters: embedded
upstreams:
  api: {{ servers: ["127.0.0.1:{self.upstream.port}"] }}
  websocket: {{ servers: ["127.0.0.1:{self.websocket_port}"] }}
routes:
  - {{ name: websocket, path: /websocket, upstream: websocket, upgrade: [websocket],
      attest: {{ mode: off }} }}
  - {{ name: all, path: /*, upstream: api, attest: {{ mode: off }} }}
admin: {{ bind: 127.0.0.1:{self.admin_port} }}
log: {{ access: "{self.path("access.log")}", events: stderr }}
# On a busy machine requests wait longer than a gateway allows.
timeouts: {{ {impatience} backlog: off }}
""")
        return [self.program, "run", "-c", path]

    def nginx(self):
        temporary = "".join(
            f"{kind}_temp_path {self.path(kind)};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        impatience = f"""
            client_header_timeout {LIMIT}; client_body_timeout {LIMIT}; send_timeout {LIMIT};
            keepalive_timeout {LIMIT};
        """ if self.is_impatient else ""
        path = self.write("nginx.conf", f"""
            daemon off;
            master_process off;
            pid nginx.pid;
            error_log stderr crit;
            events {{ worker_connections 4096; }}
            http {{
                access_log off;
                {temporary}
                upstream api {{ server 127.0.0.1:{self.upstream.port}; keepalive 64; }}
                server {{
                    listen 127.0.0.1:{self.port};
                    listen 127.0.0.1:{self.h2_port} http2;
                    listen 127.0.0.1:{self.tls_port} ssl http2;
                    listen 127.0.0.1:{self.proxy_port} proxy_protocol;
                    ssl_certificate {self.path('certificate.pem')};
                    ssl_certificate_key {self.path('key.pem')};
                    {impatience}
                    location / {{
                        proxy_pass http://api;
                        proxy_http_version 1.1;
                        proxy_set_header Connection "";
                        proxy_set_header Host $host;
                    }}
                }}
            }}
        """)
        return ["nginx", "-e", "stderr", "-p", self.folder, "-c", path]

    def haproxy(self):
        self.write("both.pem", "".join(
            open(self.path(name), encoding="utf-8").read()
            for name in ("certificate.pem", "key.pem")))
        limit = LIMIT if self.is_impatient else "60s"
        path = self.write("haproxy.cfg", f"""
global
    nbthread 1
    maxconn 4096
defaults
    mode http
    option http-buffer-request
    http-reuse always
    timeout connect 5s
    timeout client {limit}
    timeout server 60s
    timeout http-request {limit}
    timeout http-keep-alive {limit}
frontend all
    bind 127.0.0.1:{self.port}
    bind 127.0.0.1:{self.h2_port} proto h2
    bind 127.0.0.1:{self.tls_port} ssl crt {self.path("both.pem")} alpn h2,http/1.1
    bind 127.0.0.1:{self.proxy_port} accept-proxy
    default_backend api
backend api
    server api 127.0.0.1:{self.upstream.port}
""")
        return ["haproxy", "-db", "-f", path]
