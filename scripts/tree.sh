#!/usr/bin/env bash
# Lays out what an installation of a built `sallyport` has below `usr` and `etc`:
# scripts/tree.sh PROGRAM DIRECTORY
set -euo pipefail
program=$(realpath "$1") directory=$2
mkdir -p "$directory"
directory=$(realpath "$directory")
cd "$(dirname "$0")/.."

share=$directory/usr/share
documents=$share/doc/sallyport
install -D -m 755 "$program" "$directory/usr/bin/sallyport"
# Its first line tells editors where the schema is, which is not there.
sed 1d conf/examples/quick-start.yaml |
    install -D -m 644 /dev/stdin "$directory/etc/sallyport/sallyport.yaml"
install -D -m 644 deploy/sallyport.sysusers "$directory/usr/lib/sysusers.d/sallyport.conf"

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
scripts/man-pages.sh "$program" "$made"
install -D -m 644 -t "$share/man/man1" "$made/sallyport.1"
install -D -m 644 -t "$share/man/man5" "$made/sallyport.yaml.5"
scripts/completions.sh "$program" "$made"
install -D -m 644 "$made/sallyport.bash" "$share/bash-completion/completions/sallyport"
install -D -m 644 -t "$share/zsh/vendor-completions" "$made/_sallyport"
install -D -m 644 -t "$share/fish/vendor_completions.d" "$made/sallyport.fish"

install -D -m 644 -t "$share/sallyport" conf/sallyport.schema.json
install -D -m 644 -t "$documents/examples" conf/sallyport.yaml conf/examples/*.yaml
install -D -m 644 -t "$documents/docs" docs/{client-guide,glossary,headers,request-path}.md \
    docs/{settings,threat-model}.md docs/openapi.yaml
install -D -m 644 -t "$documents/docs/client" docs/client/*
install -D -m 644 -t "$documents" SECURITY.md
install -D -m 644 -t "$documents/docs/operations" docs/operations/*.md
