#!/usr/bin/env python3
"""Holds the second verifier against `sallyport explain`, over real, minted and mutated objects.

Ends with 1 at a verdict or a first failing check that differs, unless ACCEPTED below says why.
"""

import argparse
import base64
import collections
import concurrent.futures
import dataclasses
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

import mutations
import objects
import second_verifier
from x509 import Certificate

# Differences that are right as they are: kind, the checks that the one and the other verifier, in
# either order, finds failed, and why. None may let through what the other refuses.
ACCEPTED = [
    ("attestation", "certificates", "*",
     "both refuse; one finds in reading a certificate what the other finds by its signature or "
     "later: OpenSSL knows forms of names, extensions and keys that the second verifier does not, "
     "and the other way round"),
    ("receipt", "decode", "signature",
     "both refuse; one finds in reading the message what the other finds by its signature: a "
     "message has many parts that no check needs"),
]


class Gateway:
    """`sallyport explain`, asked once per object."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def verdict(self, item):
        words = [self.program, "explain", item.kind, "--json", "--root", str(item.root), "--at",
                 time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(item.at))]
        if item.client_data_hash is not None:
            # Of each thread its own, so that none is read while another writes it.
            file = self.folder / f"hash-{threading.get_ident()}"
            file.write_bytes(base64.b64encode(item.client_data_hash))
            words += ["--client-data-hash-file", str(file)]
        given = {"--key-id": item.key_id, "--public-key": item.public_key}
        for option, value in given.items():
            if value is not None:
                words += [option, base64.b64encode(value).decode()]
        for option, value in (("--app-id", item.app_id), ("--environment", item.environment)):
            if value is not None:
                words += [option, value]
        outcome = subprocess.run(
            words + ["-"], input=base64.b64encode(item.data), capture_output=True)
        if outcome.returncode not in (0, 1) or not outcome.stdout:
            return "crash", outcome.stderr.decode(errors="replace")[-200:]
        answer = json.loads(outcome.stdout)
        failed = [step["name"] for step in answer["steps"] if step["outcome"] == "failed"]
        if (answer["verdict"] == "valid") != (outcome.returncode == 0):
            return "crash", "verdict and exit code differ"
        if answer["verdict"] == "valid":
            return None
        return (failed or ["nothing"])[0], answer["code"]


def second_verdict(item, roots={}):
    if item.root not in roots:
        roots[item.root] = Certificate(objects.der_of(item.root))
    expected = second_verifier.Expected(
        at=item.at, roots=[roots[item.root]], client_data_hash=item.client_data_hash,
        key_id=item.key_id, public_key=item.public_key, app_id=item.app_id,
        environment=item.environment)
    return second_verifier.verdict(item.kind, item.data, expected)


def agrees(item, verdict):
    """Whether a verdict is the recorded one: accept, reject:WORD, ok or a reason."""
    if item.recorded is None:
        return True
    if item.recorded in ("accept", "ok"):
        return verdict is None
    return verdict is not None and verdict[1].startswith(item.recorded.removeprefix("reject:"))


def accepted(item, second, first):
    """Why this difference is none, or None."""
    if second is None or first is None:
        return None
    for kind, one, other, reason in ACCEPTED:
        for left, right in ((second[0], first[0]), (first[0], second[0])):
            if item.kind == kind and left == one and other in (right, "*"):
                return reason
    return None


def work(arguments, folder):
    """The objects, and then their mutations."""
    originals = list(objects.real(arguments.vectors)) if arguments.vectors else []
    originals += objects.Mint(arguments.lab, folder).all()
    yield from originals
    for number in range(arguments.count):
        yield mutations.mutated(originals, random.Random(f"{arguments.seed}/{number}"), number)


def shown(verdict):
    return "valid" if verdict is None else "/".join(verdict)


def judge(gateway, item):
    return item, second_verdict(item), gateway.verdict(item)


class Table:
    def __init__(self):
        self.rows = collections.defaultdict(collections.Counter)
        self.accepted, self.checks, self.differences = collections.Counter(), set(), 0

    def add(self, item, second, first, keep):
        row = self.rows[item.origin, item.kind]
        row["objects"] += 1
        row["valid"] += second is None
        self.checks.add((item.kind, second))
        reason = accepted(item, second, first) if second != first else None
        right = agrees(item, second) and agrees(item, first)
        if second == first and right:
            row["same"] += 1
        elif reason and right:
            row["accepted"] += 1
            self.accepted[reason] += 1
        else:
            row["different"] += 1
            self.differences += 1
            wanted = f", recorded {item.recorded}" if item.recorded else ""
            print(f"DIFFERENT {item.name} ({item.kind}): second verifier {shown(second)}, "
                  f"gateway {shown(first)}{wanted}", flush=True)
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                file = keep / f"{self.differences}"
                file.with_suffix(".bin").write_bytes(item.data)
                plain = dataclasses.replace(item, keys=None)
                file.with_suffix(".txt").write_text(f"{plain}\n")

    def print(self):
        columns = ("objects", "valid", "same", "accepted", "different")
        print("| origin | kind | " + " | ".join(columns) + " |")
        print("|---|---|" + "---:|" * len(columns))
        total = collections.Counter()
        for (origin, kind), row in sorted(self.rows.items()):
            total.update(row)
            print(f"| {origin} | {kind} | " + " | ".join(str(row[c]) for c in columns) + " |")
        print("| all | | " + " | ".join(str(total[c]) for c in columns) + " |")
        for reason, count in self.accepted.items():
            print(f"accepted {count}: {reason}")
        print(f"{total['objects']} objects, {len(self.checks)} verdicts, "
              f"{self.differences} differences")


def main():
    here = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=here / ".build/debug/sallyport")
    parser.add_argument("--lab", default=here / ".build/debug/sallyport-lab")
    parser.add_argument("--vectors", help="a folder of real objects, with ../certs beside it")
    parser.add_argument("--count", type=int, default=1000, help="mutated objects")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--keep", type=pathlib.Path, help="where different objects are kept")
    arguments = parser.parse_args()
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(arguments.program, folder)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            judged = pool.map(lambda item: judge(gateway, item), work(arguments, folder))
            for item, second, first in judged:
                table.add(item, second, first, arguments.keep)
    table.print()
    return 1 if table.differences else 0


if __name__ == "__main__":
    sys.exit(main())
