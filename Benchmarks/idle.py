"""Memory of idle keep-alive connections beside nginx and HAProxy; prints a table."""

import os
import resource
import time

import testbed

CONNECTIONS = int(os.environ.get("CONNECTIONS", "10000"))
SETTLE_SECONDS = 4
# A proxy counts two descriptors a connection, and keeps a few for itself.
DESCRIPTORS_KEPT = 400


def measure(process, port, count, *wrap):
    """Resident MiB without, and KiB for each of `count` connections."""
    for connection in testbed.idle_connections(port, 50, *wrap):
        connection.close()
    time.sleep(SETTLE_SECONDS)
    before = testbed.resident_mib(process)
    connections = testbed.idle_connections(port, count, *wrap)
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
    testbed.announce(bed)
    print(f"\n{count} idle connections, each after one answer\n")
    print("| server | MiB without | KiB a connection |\n| --- | --- | --- |")
    for name, process, port in servers:
        before, each = measure(process, port, count)
        print(f"| {name} | {before:.1f} | {each:.2f} |", flush=True)


if __name__ == "__main__":
    testbed.main(main)
