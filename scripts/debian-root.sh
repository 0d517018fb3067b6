#!/usr/bin/env bash
# Makes a root file system of Debian's packages, which come from where this machine gets its own:
# scripts/debian-root.sh VARIANT DIRECTORY PACKAGE...
# VARIANT is one of mmdebstrap's: extract has these packages alone, minbase a Debian to work in.
set -euo pipefail
variant=$1 directory=$2
shift 2

codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# This release's entries among apt's sources, in either of their forms.
cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    grep -E "^deb .* $codename(-updates|-security)? " > "$work/debian.list" || true
for file in /etc/apt/sources.list.d/*.sources; do
    [ -e "$file" ] || continue
    awk -v RS= -v ORS='\n\n' "/(^|\n)Suites:[^\n]* $codename(-updates|-security)?( |\n|\$)/" "$file"
done > "$work/debian.sources"
mirrors=()
for file in "$work"/debian.*; do
    if [ -s "$file" ]; then mirrors+=("$file"); fi
done

# And the proxy by which it reaches them.
options=()
while read -r line; do options+=("--aptopt=$line"); done < <(
    apt-config dump | grep -iE '^Acquire::https?::'
)

# Packages that are only extracted stand in no status file; scanners look for them here instead.
if [ "$variant" = extract ]; then
    cat > "$work/hook" <<'HOOK'
#!/bin/sh
set -e
mkdir -p "$1/var/lib/dpkg/status.d"
for package in "$1"/var/cache/apt/archives/*.deb; do
    dpkg-deb -f "$package" > "$1/var/lib/dpkg/status.d/$(dpkg-deb -f "$package" Package)"
done
HOOK
    chmod 755 "$work/hook"
    options+=("--extract-hook=$work/hook")
fi

chmod 755 "$work"
mmdebstrap --quiet --variant="$variant" --include="$(IFS=,; echo "$*")" "${options[@]}" \
    "$codename" "$directory" "${mirrors[@]}"
