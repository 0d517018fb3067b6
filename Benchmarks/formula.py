"""What a load takes, by the formula of docs/recipes/capacity.md: Benchmarks/formula.py --help"""

import argparse

# Processor time, in P-256 verifications as `openssl speed ecdsap256` measures them.
PLAIN, VERIFIED, VERIFIED_REDIS = 0.3, 1.7, 1.9
# A core that is busier than this answers late when requests come in bursts.
BUSY_SHARE = 0.6

KIB, MIB = 1024, 1 << 20
# Resident memory of a gateway that has served little.
BASE = 30 * MIB
CACHED_KEY, FLOOR, EMBEDDED_KEY, SPENT_CHALLENGE = 200, 160, 210, 26
# By what a client speaks; idle for longer than a second.
IDLE_CONNECTION = {"http": 1 * KIB, "tls": 15 * KIB, "h2": 17 * KIB}
# limits.head + limits.body_memory + limits.response_buffer, and the head of the answer.
IN_FLIGHT = (32 + 64 + 128 + 32) * KIB
# Of a key that has enrolled, with the challenge that it spent; PostgreSQL takes more than SQLite.
REGISTRY_KEY, RECEIPT = 500, 4 * KIB
# What `MEMORY USAGE` tells of each, and 80 bytes in the tables of names and of their ends.
REDIS_KEY, REDIS_CHALLENGE = 360, 216
KEPT_DESCRIPTORS = 256


def cores(verified, plain, verification_us, redis=False):
    """Processors for so many requests a second."""
    verified_us = verification_us * (VERIFIED_REDIS if redis else VERIFIED)
    return (verified * verified_us + plain * verification_us * PLAIN) / 1e6 / BUSY_SHARE


def memory(verified, keys_in_use, connections, in_flight, ttl, client="tls", redis=False,
           workers=2, cache=100_000):
    """Bytes of a gateway at most."""
    spent = 0 if redis else SPENT_CHALLENGE * verified * 2 * (ttl + 60)
    counters = 0 if redis else EMBEDDED_KEY * keys_in_use
    return (BASE + CACHED_KEY * workers * min(keys_in_use, cache) + FLOOR * keys_in_use + counters
            + spent + IDLE_CONNECTION[client] * connections + IN_FLIGHT * in_flight)


def registry(keys):
    """Bytes of the registry's file or tables."""
    return (REGISTRY_KEY + RECEIPT) * keys


def redis_memory(verified, keys_in_a_month, ttl):
    """Bytes of Redis."""
    return REDIS_KEY * keys_in_a_month + REDIS_CHALLENGE * verified * (ttl + 60)


def descriptors(workers, connections, upstream_connections):
    """What `ulimit -n` must allow: the limits of the configuration, not the load."""
    return workers * (connections + upstream_connections) + KEPT_DESCRIPTORS


def main():
    parser = argparse.ArgumentParser()
    add = parser.add_argument
    add("--verified", type=float, required=True, help="signed requests a second, at the peak")
    add("--plain", type=float, default=0, help="requests a second on routes with mode off")
    add("--verification-us", type=float, required=True,
        help="microseconds of a P-256 verification: 1000000 / verify/s of openssl speed")
    add("--redis", action="store_true", help="counters in Redis, shared by --gateways")
    add("--gateways", type=int, default=1, help="how many share the load")
    add("--keys", type=int, required=True, help="enrolled keys")
    add("--keys-in-use", type=int, required=True, help="keys used within two challenge.ttl")
    add("--connections", type=int, required=True, help="clients that are connected")
    add("--client", choices=sorted(IDLE_CONNECTION), default="tls", help="what they speak")
    add("--response-ms", type=float, default=100, help="how long the API takes to answer")
    add("--workers", type=int, default=2, help="of each gateway")
    add("--ttl", type=float, default=120, help="challenge.ttl in seconds")
    given = parser.parse_args()
    share = 1 / given.gateways
    in_flight = (given.verified + given.plain) * given.response_ms / 1000 * share
    needed = cores(given.verified, given.plain, given.verification_us, given.redis)
    each = memory(
        given.verified * share, given.keys_in_use, given.connections * share, in_flight,
        given.ttl, given.client, given.redis, given.workers)
    print(f"processors, all gateways     {needed:8.1f}")
    print(f"memory, each gateway         {each / MIB:8.0f} MiB")
    print(f"registry                     {registry(given.keys) / MIB:8.0f} MiB")
    if given.redis:
        total = redis_memory(given.verified, given.keys, given.ttl)
        print(f"Redis                        {total / MIB:8.0f} MiB")
    print(f"descriptors, each gateway    {descriptors(given.workers, 10_000, 1024):8.0f}")


if __name__ == "__main__":
    main()
