#!/usr/bin/env bash
# Makes the key that signs releases: scripts/release-key.sh FILE
# FILE gets the private key (Ed25519) and stays with whoever makes releases. The public key goes
# to deploy/release-key.pem, which is committed.
set -euo pipefail
repository=$(realpath "$(dirname "$0")/..")
key=$(realpath -m "$1")
case "$key" in
    "$repository"/*)
        echo "release-key: keep $1 outside of the repository" >&2
        exit 2
        ;;
esac
if [ -e "$key" ]; then
    echo "release-key: $1 exists, and whoever trusts its public key trusts no other" >&2
    exit 2
fi
umask 077
openssl genpkey -algorithm ed25519 -out "$key"
umask 022
public=${PUBLIC_KEY:-$repository/deploy/release-key.pem}
openssl pkey -in "$key" -pubout -out "$public"
echo "$public"
