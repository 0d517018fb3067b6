"""What a load takes, by the formula of docs/recipes/capacity.md: Benchmarks/formula.py --help"""

import argparse

# Processor time, in P-256 verifications as `openssl speed ecdsap256` measures them.
PLAIN, VERIFIED, VERIFIED_REDIS = 0.33, 1.7, 1.9
# A TLS handshake with a client: in full by the certificate's key (P-256, RSA-2048), and resumed,
# which with TLS 1.3 still agrees on new keys.
HANDSHAKE = {"ecdsa": 8, "rsa": 12, "resumed": 7, "resumed-1.2": 4}
# A core that is busier than this answers late when requests come in bursts.
BUSY_SHARE = 0.6

KIB, MIB = 1024, 1 << 20
# Resident memory of a gateway that has served little.
BASE = 30 * MIB
# Pages that SQLite keeps for the connection that reads and for the one that writes.
SQLITE_CACHES = 16 * MIB
# A floor is 160 bytes in memory and 64 in a file whose pages are resident, too. An embedded key
# takes 64 before it has used more than 64 counters.
CACHED_KEY, FLOOR, EMBEDDED_KEY, SPENT_CHALLENGE = 200, 224, 192, 26
# By what a client speaks; idle for longer than a second.
IDLE_CONNECTION = {"http": 1 * KIB, "tls": 15 * KIB, "h2": 17 * KIB}
# limits.head + limits.body_memory + limits.response_buffer, and the head of the answer.
IN_FLIGHT = (32 + 64 + 128 + 32) * KIB
# PostgreSQL takes more than SQLite. The challenge of an enrolment, 170 bytes, leaves after a week.
REGISTRY_KEY, SQLITE_KEY, RECEIPT = 260, 140, 4 * KIB
# With their places in the tables of names and of ends. A device takes 193 if its last 1024 counters
# have no gap, 241 with 25 gaps apart from each other, and 337 with 64.
REDIS_KEY, REDIS_CHALLENGE = 250, 216
KEPT_DESCRIPTORS = 256


def cores(verified, plain, verification_us, redis=False, handshakes=None):
    """Processors for so many requests a second, and so many `handshakes` of each kind."""
    verifications = verified * (VERIFIED_REDIS if redis else VERIFIED) + plain * PLAIN + sum(
        HANDSHAKE[kind] * rate for kind, rate in (handshakes or {}).items())
    return verifications * verification_us / 1e6 / BUSY_SHARE


def memory(verified, keys_in_use, connections, in_flight, ttl, client="tls", redis=False,
           workers=2, cache=100_000, sqlite=False):
    """Bytes of a gateway at most."""
    spent = 0 if redis else SPENT_CHALLENGE * verified * 2 * (ttl + 60)
    counters = 0 if redis else EMBEDDED_KEY * keys_in_use
    return (BASE + (SQLITE_CACHES if sqlite else 0)
            + CACHED_KEY * workers * min(keys_in_use, cache) + FLOOR * keys_in_use + counters
            + spent + IDLE_CONNECTION[client] * connections + IN_FLIGHT * in_flight)


def registry(keys, sqlite=False):
    """Bytes of the registry's file or tables, with a receipt for each key."""
    return ((SQLITE_KEY if sqlite else REGISTRY_KEY) + RECEIPT) * keys


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
    add("--handshakes", type=float, default=0, help="TLS handshakes a second")
    add("--handshake", choices=HANDSHAKE, default="ecdsa",
        help="in full by the key of the certificate, or resumed (TLS 1.3, or 1.2)")
    add("--verification-us", type=float, required=True,
        help="microseconds of a P-256 verification: 1000000 / verify/s of openssl speed")
    add("--redis", action="store_true", help="counters in Redis, shared by --gateways")
    add("--sqlite", action="store_true", help="the registry is a file, not PostgreSQL")
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
    needed = cores(given.verified, given.plain, given.verification_us, given.redis,
                   {given.handshake: given.handshakes})
    each = memory(
        given.verified * share, given.keys_in_use, given.connections * share, in_flight,
        given.ttl, given.client, given.redis, given.workers, sqlite=given.sqlite)
    print(f"processors, all gateways     {needed:8.1f}")
    print(f"memory, each gateway         {each / MIB:8.0f} MiB")
    print(f"registry                     {registry(given.keys, given.sqlite) / MIB:8.0f} MiB")
    if given.redis:
        total = redis_memory(given.verified, given.keys, given.ttl)
        print(f"Redis                        {total / MIB:8.0f} MiB")
    print(f"descriptors, each gateway    {descriptors(given.workers, 10_000, 1024):8.0f}")


if __name__ == "__main__":
    main()
