"""Servers and clients of a measurement: on free ports of 127.0.0.1, each ended by its id."""

import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

APP = "ABCDE12345.com.example.bench"
MIB = 1 << 20
# HAProxy keeps all of them. Who keeps fewer than there are requests in flight connects anew.
IDLE_UPSTREAM_CONNECTIONS = 256
# How long a server may take to end once it was asked to.
END_SECONDS = 30
HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    """What made a measurement impossible."""


class Testbed:
    """Processes and their files; leaving it ends the former and removes the latter."""

    def __init__(self, build, options=()):
        self.options = options
        self.gateway = os.path.abspath(os.path.join(build, "sallyport"))
        self.lab = os.path.abspath(os.path.join(build, "sallyport-lab"))
        self.processes = []
        self.connections_max = 4096
        cpus = sorted(os.sched_getaffinity(0))
        self.server_cpu, self.load_cpu = cpus[0], cpus[min(1, len(cpus) - 1)]

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        self.folder = tempfile.mkdtemp(prefix="sallyport-bench-")
        return self

    def __exit__(self, *_):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for process in reversed(self.processes):
            self.end(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    # Processes

    def start(self, name, command, cpu=None, **options):
        """Starts `command`, on one processor where `cpu` is given; its output goes to a log."""
        if cpu is not None:
            command = ["taskset", "-c", str(cpu), *command]
        with open(self.path(name + ".log"), "ab") as log:
            options.setdefault("stdout", log)
            options.setdefault("stderr", log)
            process = subprocess.Popen(
                command, cwd=self.folder, stdin=options.pop("stdin", subprocess.DEVNULL), **options
            )
        process.name = name
        self.processes.append(process)
        return process

    def end(self, process):
        """Asks, then insists: SIGTERM, and SIGKILL five seconds later."""
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout:
            process.stdout.close()
        self.processes.remove(process)

    def output(self, name, command, cpu=None):
        """Runs `command` to its end and returns what it printed."""
        return self.collect(self.start(name, command, cpu, stdout=subprocess.PIPE, text=True))

    def collect(self, process):
        """Awaits the end of a process that was started with a pipe, and what it printed."""
        text, _ = process.communicate()
        self.end(process)
        if process.returncode != 0:
            raise Failure(f"{process.name} ended with {process.returncode}: "
                          f"{text.strip()} {self.log(process.name)}")
        return text

    def await_answer(self, process, url, seconds=30):
        """Awaits the first answer with status 200, and returns how long that took."""
        began = time.monotonic()
        while time.monotonic() - began < seconds and process.poll() is None:
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    if answer.status == 200:
                        return time.monotonic() - began
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.005)
        raise Failure(f"{process.name} does not answer at {url}: {self.log(process.name)}")

    # Files

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def log(self, name):
        with open(self.path(name + ".log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:].strip()

    # Servers

    def start_nginx(self, name, port, server, cpu=None, more=""):
        """One nginx process; `server` is what is inside its server block."""
        temporary = "".join(
            f"{kind}_temp_path {self.path(name)}-{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        path = self.write(name + ".conf", f"""
            daemon off;
            master_process off;
            pid {name}.pid;
            error_log stderr crit;
            events {{ worker_connections {self.connections_max}; }}
            http {{
                access_log off;
                keepalive_requests 1000000000;
                keepalive_timeout 1h;
                default_type text/plain;
                {temporary} {more}
                server {{ listen 127.0.0.1:{port}; {server} }}
            }}
        """)
        command = ["nginx", "-e", "stderr", "-p", self.folder, "-c", path]
        return self.start(name, command, cpu)

    def start_nginx_proxy(self, port, upstream, cpu=None, listen=""):
        """nginx as a reverse proxy with kept-alive connections to the upstream; `listen` are
        further directives of its server."""
        more = f"""
            upstream api {{
                server 127.0.0.1:{upstream};
                keepalive {IDLE_UPSTREAM_CONNECTIONS};
                keepalive_requests 1000000000;
            }}
        """
        # Its own buffers are so small that it writes each body of 64 KiB, and most of each large
        # answer, to a file.
        server = listen + """
            client_body_buffer_size 128k;
            proxy_buffer_size 16k;
            proxy_buffers 8 16k;
            proxy_busy_buffers_size 64k;
            proxy_max_temp_file_size 0;
            location / {
                proxy_pass http://api;
                proxy_http_version 1.1;
                proxy_set_header Connection "";
            }
        """
        process = self.start_nginx("nginx", port, server, cpu, more)
        self.await_answer(process, f"http://127.0.0.1:{port}/")
        return process

    def start_haproxy(self, port, upstream, cpu=None, listen=""):
        """The same with HAProxy, one thread; `listen` are further lines of its frontend."""
        path = self.write("haproxy.cfg", f"""
global
    nbthread 1
    maxconn {self.connections_max}
defaults
    mode http
    http-reuse always
    timeout connect 5s
    timeout client 1h
    timeout server 1m
frontend measured
    bind 127.0.0.1:{port}
    {listen}
    default_backend api
backend api
    server api 127.0.0.1:{upstream}
""")
        process = self.start("haproxy", ["haproxy", "-db", "-f", path], cpu)
        self.await_answer(process, f"http://127.0.0.1:{port}/")
        return process

    def start_forwarder(self, port, upstream, cpu=None):
        """A program that forwards bytes and reads none of them."""
        source = os.path.join(HERE, "peers/forwarder.c")
        self.output("cc", ["cc", "-O2", "-o", self.path("forwarder"), source])
        process = self.start(
            "forwarder", [self.path("forwarder"), str(port), str(upstream)], cpu)
        self.await_answer(process, f"http://127.0.0.1:{port}/")
        return process

    def start_upstream(self, port, cpu=None):
        """The API of every measurement: it takes bodies of any length, and answers a line of text,
        or a file."""
        server = f"""
            client_max_body_size 0;
            location / {{ return 200 "Thirty-two bytes of plain text.\\n"; }}
            location /files/ {{ root {self.folder}; sendfile on; }}
        """
        process = self.start_nginx("upstream", port, server, cpu)
        self.await_answer(process, f"http://127.0.0.1:{port}/")
        return process

    def make_file(self, name, byte_count):
        """A file of zeros that the API answers at the path that this returns."""
        os.makedirs(self.path("files"), exist_ok=True)
        with open(self.path(f"files/{name}"), "wb") as file:
            file.truncate(byte_count)
        return f"/files/{name}"

    def configure_gateway(self, name, port, admin, upstream, counters="embedded",
                          workers="1", challenge_ttl="2m", key_cache=100_000, listeners="",
                          body="required", registry=None, routes="", timeouts="idle: 1h", more=""):
        """`listeners` and `routes` are further entries of those, each a line; `body` is the
        setting. `registry` is what stands between the braces, a file of SQLite without it, and
        `timeouts` too. `more` is whole lines of the file."""
        return self.write(name + ".yaml", f"""
workers: {workers}
listeners:
  - bind: 127.0.0.1:{port}
{listeners}
apps:
  - id: {APP}
    environments: [production]
registry: {{ {registry or f"sqlite: {self.path(name)}.db"} }}
counters: {counters}
key_cache: {{ records: {key_cache} }}
challenge: {{ ttl: {challenge_ttl} }}
upstreams:
  api:
    servers: ["127.0.0.1:{upstream}"]
    idle_connections_max: {IDLE_UPSTREAM_CONNECTIONS}
routes:
  - name: verified
    path: /verified
    upstream: api
    attest:
      {{ mode: enforce, client_data: header, challenge: required, replay: strict, body: {body} }}
{routes}
  - name: plain
    path: /*
    upstream: api
    attest: {{ mode: off }}
admin: {{ bind: 127.0.0.1:{admin} }}
log: {{ access: off, events: stderr }}
limits: {{ requests_per_connection: 1000000000, connections: {self.connections_max} }}
timeouts: {{ {timeouts} }}
{more}
""")

    def start_gateway(self, name, admin, cpu=None, openssl=None):
        """Starts what was configured, with the OpenSSL of a folder if one is given. Returns the
        process and the seconds until ready."""
        command = [*(["env", f"LD_LIBRARY_PATH={openssl}"] if openssl else []), self.gateway,
                   "run", "-c", self.path(name + ".yaml")]
        process = self.start(name, command, cpu)
        return process, self.await_answer(process, f"http://127.0.0.1:{admin}/readyz")

    def import_keys(self, name, seed, count):
        """Enrols the devices of `seed`, and returns what the command says about it."""
        seeding = self.start("seed-" + name, [
            self.lab, "seed", "--count", str(count), "--seed", seed, "--app", APP,
        ], stdout=subprocess.PIPE)
        importing = self.start("import-" + name, [
            self.gateway, "keys", "import", "-c", self.path(name + ".yaml"),
        ], stdin=seeding.stdout, stdout=subprocess.PIPE, text=True)
        seeding.stdout.close()
        text = self.collect(importing)
        seeding.wait()
        self.end(seeding)
        return (text.strip() or self.log("import-" + name)).splitlines()[-1:]

    # Clients

    def start_wrk(self, name, port, seconds, connections, cpu=None, path="/", header=None):
        """Plain requests in a closed loop; `header` is a line that each of them has."""
        return self.start(name, [
            "wrk", "-t1", f"-c{connections}", f"-d{seconds}s",
            *(["-H", header] if header else []), f"http://127.0.0.1:{port}{path}",
        ], cpu, stdout=subprocess.PIPE, text=True)

    def start_load(self, name, port, seconds, seed, devices, connections, cpu=None, server=None,
                   more=()):
        """The load generator that signs each request; `more` are further options."""
        return self.start(name, [
            self.lab, "load", "--gateway", f"127.0.0.1:{port}", "--method", "POST",
            "--path", "/verified", "--body-bytes", "64", "--seconds", str(seconds),
            "--connections", str(connections), "--seed", seed, "--devices", str(devices),
            "--app", APP, *(["--pid", str(server.pid)] if server else []), *more,
        ], cpu, stdout=subprocess.PIPE, text=True)

    def start_unsigned_load(self, name, port, seconds, connections, cpu=None, more=()):
        """The same load generator with plain requests."""
        return self.start(name, [
            self.lab, "load", "--gateway", f"127.0.0.1:{port}", "--seconds", str(seconds),
            "--connections", str(connections), *more], cpu, stdout=subprocess.PIPE, text=True)

    def wrk_result(self, process):
        """Requests, and requests per second; anything but 2xx is a failure."""
        text = self.collect(process)
        if "Non-2xx" in text or "Socket errors" in text:
            raise Failure(f"{process.name}: {text}")
        return (int(re.search(r"(\d+) requests in", text).group(1)),
                float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)))

    def load_result(self, process):
        return json.loads(self.collect(process))


def signature_library():
    """Intel's crypto_mb where the install script has put it; None without it, or on a processor for
    which it has no batches."""
    path = os.path.join(os.path.dirname(HERE), ".build/python/lib/libcrypto_mb.so.13")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        if not re.search(r"^flags.*\bavx512ifma\b", file.read(), re.MULTILINE):
            return None
    return path if os.path.exists(path) else None


def newer_openssl():
    """The folder of OpenSSL 3.5 where the install script has put it; None without it."""
    path = os.path.join(os.path.dirname(HERE), ".build/python/openssl")
    return path if os.path.exists(os.path.join(path, "libssl.so.3")) else None


def free_ports(count):
    """Ports that nobody listens on; all are held until the last is known."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def idle_connections(port, count, wrap=lambda connection: connection):
    """Connections that have each had one answer and now wait; `wrap` may put TLS around each."""
    request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    connections = []
    for _ in range(count):
        connection = wrap(socket.create_connection(("127.0.0.1", port), timeout=30))
        connection.sendall(request)
        answer = b""
        while b"bytes of plain text.\n" not in answer:
            piece = connection.recv(4096)
            if not piece:
                raise Failure(f"port {port} closed a connection: {answer!r}")
            answer += piece
        connections.append(connection)
    return connections


def processor_seconds(process):
    """User and system time of all threads, also of those that have ended."""
    return processor_seconds_of(process.pid)


def processor_seconds_of(process_id):
    """The same by the id of a process, to the nanosecond where proc(5) has steps of 10 ms. This is
    the clock that clock_getcpuclockid(3) names, which Python has for threads only."""
    processor_clock = ~process_id << 3 | 2
    try:
        return time.clock_gettime(processor_clock)
    except OSError as error:
        raise Failure(f"no processor time of process {process_id}: {error}") from error


def resident_mib(process):
    """Resident memory, in MiB."""
    with open(f"/proc/{process.pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB


def prefer(process):
    """Has a process run before all others on its processor; false where that is not allowed."""
    return subprocess.run(["chrt", "--fifo", "--all-tasks", "--pid", "1", str(process.pid)],
                          check=False, capture_output=True).returncode == 0


def treat_alike(process):
    """Has a process run in turn with others again after ``prefer``."""
    subprocess.run(["chrt", "--other", "--all-tasks", "--pid", "0", str(process.pid)],
                   check=False, capture_output=True)


def favour(process):
    """Has a process run before most others on its processor; false where that is not allowed. The
    kernel does not stop it, as it does for a moment with one that is preferred (sched(7)) and takes
    more than 95 % of a second."""
    threads = os.listdir(f"/proc/{process.pid}/task")
    return subprocess.run(["renice", "--priority", "-20", "--pid", *threads],
                          check=False, capture_output=True).returncode == 0


def resident_mib_max(process):
    """The most resident memory that it has had, in MiB."""
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1)) / 1024


def stolen_share():
    """Returns a function that tells which share of time the host has since taken away."""
    def sample():
        with open("/proc/stat", encoding="utf-8") as file:
            fields = [int(each) for each in file.readline().split()[1:9]]
        return fields[7], sum(fields)

    stolen, total = sample()

    def share():
        stolen_now, total_now = sample()
        return (stolen_now - stolen) / max(1, total_now - total)

    return share


def commit():
    """What the sources of the benchmarks are, which are to be those of the build."""
    try:
        return subprocess.run(
            ["git", "-C", HERE, "describe", "--always", "--dirty", "--exclude=*"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "an unknown commit"


def machine(bed):
    """Lines that tell on what, with what, and when something was measured."""
    def first_line(*command):
        result = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return next((line for line in result.stdout.splitlines() if line), "?")

    def fact(path, pattern):
        try:
            with open(path, encoding="utf-8") as file:
                found = re.search(pattern, file.read(), re.MULTILINE)
        except OSError:
            found = None
        return found.group(1) if found else "unknown"

    model = fact("/proc/cpuinfo", r"^model name\s*: (.*)$")
    system = fact("/etc/os-release", r'^PRETTY_NAME="?(.*?)"?$')
    redis = re.search(r"v=(\S+)", first_line("redis-server", "-v"))
    nginx = first_line("nginx", "-v").rpartition("/")[2]
    haproxy = first_line("haproxy", "-v").split()[2]
    return [
        time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()) + ", " + first_line(
            bed.gateway, "version") + ", sources at " + commit(),
        f"{model}, {os.cpu_count()} processors, {system}, Linux {platform.release()}",
        f"nginx {nginx}, HAProxy {haproxy}, Redis {redis.group(1) if redis else 'unknown'}, "
        + " ".join(first_line("openssl", "version").split()[:2]),
    ]


def announce(bed):
    """Prints what ``machine`` tells, and returns it."""
    facts = machine(bed)
    print(*facts, sep="\n", flush=True)
    return facts


def main(measure, *options):
    """Runs `measure` in a testbed for the build folder named on the command line, which may have
    `options` behind it."""
    wanted = sys.argv[2:]
    if len(sys.argv) < 2 or not set(wanted) <= set(options):
        usage = [f"usage: Benchmarks/{script_name()} BUILD_FOLDER",
                 *(f"[{each}]" for each in options)]
        sys.exit(" ".join(usage))
    run(measure, sys.argv[1], options=wanted)


def run(measure, build, needed=(), task="bench", options=()):
    """The same for `build`; `needed` are further programs, which `task` of the script installs."""
    needed = ["nginx", "haproxy", "wrk", "redis-server", "openssl", "curl", "taskset", *needed]
    missing = [each for each in needed if not shutil.which(each)]
    if missing:
        sys.exit(f"{script_name()}: not installed: {', '.join(missing)}; "
                 f"try scripts/install.sh {task}")
    try:
        with Testbed(build, options) as bed:
            if not os.access(bed.gateway, os.X_OK):
                raise Failure(f"no {bed.gateway}: make build")
            sys.exit(measure(bed))
    except Failure as failure:
        sys.exit(f"{script_name()}: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


def script_name():
    return os.path.basename(sys.argv[0]).replace(".py", ".sh")
