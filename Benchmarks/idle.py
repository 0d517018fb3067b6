"""Memory of idle keep-alive connections beside nginx and HAProxy; prints a table."""

import os
import resource
import socket
import time

import testbed

CONNECTIONS = int(os.environ.get("CONNECTIONS", "10000"))
SETTLE_SECONDS = 4
# A proxy counts two descriptors a connection, and keeps a few for itself.
DESCRIPTORS_KEPT = 400


def connect(port, count):
    """Connections that have each had one answer and now wait."""
    request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    connections = []
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port), timeout=10)
        connection.sendall(request)
        answer = b""
        while b"bytes of plain text.\n" not in answer:
            piece = connection.recv(4096)
            if not piece:
                raise testbed.Failure(f"port {port} closed a connection: {answer!r}")
            answer += piece
        connections.append(connection)
    return connections


def measure(bed, process, port, count):
    """KiB of resident memory for each of `count` connections."""
    for connection in connect(port, 50):
        connection.close()
    time.sleep(SETTLE_SECONDS)
    before = testbed.resident_mib(process)
    connections = connect(port, count)
    time.sleep(SETTLE_SECONDS)
    grown = testbed.resident_mib(process) - before
    for connection in connections:
        connection.close()
    return before, grown * 1024 / count


def main(bed):
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    count = min(CONNECTIONS, (limit - DESCRIPTORS_KEPT) // 2)
    bed.connections_max = count + 100
    upstream, gateway, admin, nginx, haproxy = testbed.free_ports(5)
    bed.start_upstream(upstream, bed.load_cpu)
    bed.configure_gateway("gateway", gateway, admin, upstream)
    servers = [
        ("Sallyport", bed.start_gateway("gateway", admin, bed.server_cpu)[0], gateway),
        ("nginx", bed.start_nginx_proxy(nginx, upstream, bed.server_cpu), nginx),
        ("HAProxy", bed.start_haproxy(haproxy, upstream, bed.server_cpu), haproxy),
    ]
    print("\n".join(testbed.machine(bed)))
    print(f"\n{count} idle connections, each after one answer\n")
    print("| server | MiB without | KiB a connection |\n| --- | --- | --- |")
    for name, process, port in servers:
        before, each = measure(bed, process, port, count)
        print(f"| {name} | {before:.1f} | {each:.2f} |", flush=True)


if __name__ == "__main__":
    testbed.main(main)
