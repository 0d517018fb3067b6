"""What it costs that nginx asks the gateway, beside nginx with the gateway behind it; prints a
table."""

import os
import statistics

import testbed

ROUNDS = int(os.environ.get("ROUNDS", "5"))
ROUND_SECONDS = int(os.environ.get("ROUND_SECONDS", "5"))
CONNECTIONS = int(os.environ.get("CONNECTIONS", "8"))
DEVICES = 64
PROXYING = "nginx, then Sallyport as proxy"
CHECKING = "nginx, which asks Sallyport"


def start(bed):
    """nginx in two ways in front of one gateway: the process of the gateway, and two ports."""
    upstream, gateway, check, admin, proxying, checking = testbed.free_ports(6)
    bed.start_upstream(upstream, bed.load_cpu)
    bed.configure_gateway(
        "gateway", gateway, admin, upstream, body="claimed",
        listeners=f"  - {{ bind: 127.0.0.1:{check}, check: "
                  "{ dialect: nginx, from: [127.0.0.1] } }")
    for number in range(ROUNDS):
        for way in ("proxying", "checking"):
            bed.import_keys("gateway", f"{way}-{number}", DEVICES)
    bed.start_gateway("gateway", admin, bed.server_cpu)
    kept = f"keepalive {testbed.IDLE_UPSTREAM_CONNECTIONS}; keepalive_requests 1000000000;"
    common = 'proxy_http_version 1.1; proxy_set_header Connection "";'
    first = bed.start_nginx(
        "proxying", proxying,
        f"{common} location / {{ proxy_pass http://gateway; proxy_set_header Host $http_host; }}",
        bed.server_cpu, f"upstream gateway {{ server 127.0.0.1:{gateway}; {kept} }}")
    second = bed.start_nginx("checking", checking, f"""
        {common}
        location = /check {{
            internal;
            proxy_pass http://check/check;
            proxy_pass_request_body off;
            proxy_set_header Connection "";
            proxy_set_header Content-Length "";
            proxy_set_header X-Original-Method $request_method;
            proxy_set_header X-Original-URI $request_uri;
            proxy_set_header X-Original-Host $http_host;
            proxy_set_header X-Original-Content-Length $http_content_length;
        }}
        location /assert/ {{ proxy_pass http://check; }}
        location / {{
            auth_request /check;
            auth_request_set $challenge $upstream_http_x_app_attest_challenge;
            auth_request_set $digest $upstream_http_x_attest_body_sha256;
            add_header X-App-Attest-Challenge $challenge;
            proxy_set_header Connection "";
            proxy_set_header X-Attest-Body-SHA256 $digest;
            proxy_pass http://api;
        }}
    """, bed.server_cpu, f"""
        upstream check {{ server 127.0.0.1:{check}; {kept} }}
        upstream api {{ server 127.0.0.1:{upstream}; {kept} }}
    """)
    for process, port in ((first, proxying), (second, checking)):
        bed.await_answer(process, f"http://127.0.0.1:{port}/")
    return {PROXYING: ("proxying", proxying), CHECKING: ("checking", checking)}


def main(bed):
    ways = start(bed)
    testbed.announce(bed)
    print(f"\n{ROUNDS} rounds of {ROUND_SECONDS} s; {CONNECTIONS} connections; verified POST of 64 "
          "bytes; medians\n", flush=True)
    results = {name: [] for name in ways}
    for number in range(ROUNDS):
        for name in list(ways)[::1 if number % 2 else -1]:
            way, port = ways[name]
            results[name].append(bed.load_result(bed.start_load(
                f"load-{way}", port, ROUND_SECONDS, f"{way}-{number}", DEVICES, CONNECTIONS,
                bed.load_cpu)))
    print("| way | requests/s | p50, us | p99, us |")
    print("| --- | --- | --- | --- |")
    for name, rounds in results.items():
        def median(key):
            return statistics.median(key(each) for each in rounds)

        print(f"| {name} | {median(lambda each: each['requests_per_second']):,.0f} | "
              f"{median(lambda each: each['latency_us']['p50']):,.0f} | "
              f"{median(lambda each: each['latency_us']['p99']):,.0f} |")
    return 0


if __name__ == "__main__":
    testbed.main(main)
