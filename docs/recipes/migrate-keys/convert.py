#!/usr/bin/env python3
"""Turns a CSV export of another verifier's keys into lines for `sallyport keys import`:
convert.py --app APP_ID [--environment production] < keys.csv > keys.jsonl

The columns, by the names in the first line:
  key_id       base64 or base64url of 32 bytes; may be missing, since it is the key's SHA-256
  public_key   PEM, base64 or hex of the point (65 bytes) or of its SubjectPublicKeyInfo (DER)
  counter      the highest counter that was ever accepted from this key
  app_id, environment, enrolled_at, status    optional, as in `keys import`

A key that occurs twice is written once, with the higher counter. What cannot be read is reported
with its line, nothing of it is written, and the exit code is 1.
"""

import argparse
import base64
import csv
import hashlib
import json
import re
import sys

# What precedes the point in the SubjectPublicKeyInfo of a P-256 key (RFC 5480).
SPKI = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
KNOWN = {"key_id", "public_key", "counter", "app_id", "environment", "enrolled_at", "status"}
COPIED = ("enrolled_at", "status")


def decode(text):
    """Base64 in either alphabet, with or without padding."""
    text = re.sub(r"\s", "", text).rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def point(text):
    """The 65 bytes of the public key."""
    text = text.strip()
    pem = re.fullmatch(r"-----BEGIN PUBLIC KEY-----(.*)-----END PUBLIC KEY-----", text, re.DOTALL)
    if pem:
        text = pem.group(1)
    if re.fullmatch(r"(?:[0-9a-fA-F]{2}){65}|(?:[0-9a-fA-F]{2}){91}", text):
        found = bytes.fromhex(text)
    else:
        found = decode(text)
    found = found.removeprefix(SPKI)
    if len(found) != 65 or found[0] != 4:
        raise ValueError("public_key is no uncompressed P-256 point")
    return found


def record(row, options):
    """The members of one line; a missing counter would let old assertions pass, so it is asked."""
    if None in row or None in row.values():
        raise ValueError("another number of columns than in the first line")
    key = point(row["public_key"])
    key_id = hashlib.sha256(key).digest()
    if row.get("key_id") and decode(row["key_id"]) != key_id:
        raise ValueError("key_id is not the SHA-256 of public_key")
    counter = row["counter"].strip()
    if not re.fullmatch(r"[0-9]{1,10}", counter) or int(counter) >= 1 << 32:
        raise ValueError("counter is not between 0 and 4294967295")
    members = {
        "key_id": base64.b64encode(key_id).decode(),
        "public_key": base64.b64encode(key).decode(),
        "app_id": row.get("app_id") or options.app,
        "environment": row.get("environment") or options.environment,
        "counter": int(counter),
    }
    members.update((name, row[name]) for name in COPIED if row.get(name))
    return members


def convert(rows, options):
    """All keys by their ids, and how many rows could not be read."""
    columns = set(rows.fieldnames or [])
    for name in sorted({"public_key", "counter"} - columns):
        sys.exit(f"no column {name}")
    for name in sorted(columns - KNOWN):
        sys.exit(f"unknown column {name}: leave it out")
    keys, faults = {}, 0
    for row in rows:
        try:
            members = record(row, options)
            known = keys.setdefault(members["key_id"], members)
            if {**known, "counter": 0} != {**members, "counter": 0}:
                raise ValueError("the key is there already, with other values")
            known["counter"] = max(known["counter"], members["counter"])
        except ValueError as error:
            faults += 1
            print(f"line {rows.line_num}: {error}", file=sys.stderr)
    return keys, faults


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--app", required=True)
    parser.add_argument("--environment", default="production")
    options = parser.parse_args()
    # Spreadsheets put a mark in front. A byte that is no text makes its row a faulty one.
    sys.stdin.reconfigure(encoding="utf-8-sig", errors="replace", newline="")
    rows = csv.DictReader(sys.stdin)
    try:
        keys, faults = convert(rows, options)
    except csv.Error as error:
        sys.exit(f"line {rows.line_num}: {error}; nothing was written")
    for members in keys.values():
        print(json.dumps(members))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
