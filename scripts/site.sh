#!/usr/bin/env bash
# Builds a website of the pages, with a search, that needs no server: scripts/site.sh DIRECTORY
# What was in DIRECTORY is deleted.
# `scripts/install.sh site` has installed what it needs; from then on it needs no network.
# The same commit makes the same bytes.
set -euo pipefail
mkdir -p "$1"
directory=$(realpath "$1")
cd "$(dirname "$0")/.."

python=.build/site/python
if [ ! -e "$python/requirements.txt" ]; then
    echo "site: there is no MkDocs: scripts/install.sh site installs it" >&2
    exit 1
fi
# The theme's makers advertise its successor.
export NO_MKDOCS_2_WARNING=1 PYTHONUTF8=1
# Not --quiet: what is wrong would then be no error.
if ! said=$("$python/bin/python" -B -m mkdocs build --config-file scripts/site/mkdocs.yml \
    --site-dir "$directory" 2>&1); then
    printf 'site: %s\n' "$said" >&2
    exit 1
fi
