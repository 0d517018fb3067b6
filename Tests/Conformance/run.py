"""Judges a server by the cases of a suite: run.py [--server KIND] [--program PATH] SUITE...

Prints a line for each case that fails and one for each suite; exits with 1 where one failed.
docs/proof/conformance.md says what the suites are.
"""

import argparse
import sys
import time

import cases
import clients
import downgrade
import floods
import h2_generic
import h2_messages
import h2_protocol
import http1
import servers
import slow
import smuggling

# By name: the cases, over TLS or not, and whether the server waits for nobody.
SUITES = {
    "h2": ("h2", False, False),
    "h2-tls": ("h2", True, False),
    "http1": ("http1", False, False),
    "smuggling": ("smuggling", False, False),
    "downgrade": ("downgrade", False, False),
    "slow": ("slow", False, True),
    "floods": ("floods", False, False),
    "clients": ("clients", False, False),
}
# Their cases add themselves when they are imported.
MODULES = [h2_generic, h2_protocol, h2_messages, http1, smuggling, downgrade, slow, floods, clients]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=["sallyport", "nginx", "haproxy"], default="sallyport")
    parser.add_argument("--program", default=".build/debug/sallyport", help="the built sallyport")
    parser.add_argument("--only", default="", help="cases with this in their names")
    parser.add_argument("suites", nargs="+", choices=list(SUITES))
    options = parser.parse_args()
    has_failed = False
    for name in options.suites:
        suite, is_tls, is_impatient = SUITES[name]
        began = time.monotonic()
        with servers.Site(options.server, options.program, is_impatient) as site:
            site.is_tls = is_tls
            failures, count = cases.run(suite, site, options.only)
            if site.process.poll() is not None:
                failures.append(("the server", f"has ended: {site.log()}"))
        for case, reason in failures:
            print(f"FAIL {name}: {case}: {reason}")
        print(f"{name}: {count} cases, {len(failures)} failed, "
              f"{time.monotonic() - began:.1f} s", flush=True)
        has_failed = has_failed or bool(failures)
    sys.exit(1 if has_failed else 0)


if __name__ == "__main__":
    main()
