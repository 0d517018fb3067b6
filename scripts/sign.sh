#!/usr/bin/env bash
# Signs the checksums of a release: scripts/sign.sh KEY DIRECTORY
# KEY is the private key of deploy/release-key.pem, which scripts/release-key.sh has made.
set -euo pipefail
key=$(realpath "$1")
sums=$(realpath "$2")/SHA256SUMS
cd "$(dirname "$0")/.."
public=${PUBLIC_KEY:-deploy/release-key.pem}
if [ ! -e "$public" ]; then
    echo "sign: there is no $public: make it with scripts/release-key.sh, and commit it" >&2
    exit 1
fi
if ! openssl pkey -in "$key" -pubout | cmp -s - "$public"; then
    echo "sign: $public is the public half of another key" >&2
    exit 1
fi
openssl pkeyutl -sign -inkey "$key" -rawin -in "$sums" -out "$sums.sig"
# Nothing is published that its readers could not verify.
openssl pkeyutl -verify -pubin -inkey "$public" -rawin -in "$sums" -sigfile "$sums.sig"
