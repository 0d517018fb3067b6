#!/usr/bin/env bash
# Runs the image of a package as containers do: read-only, its user a number without privileges, in
# namespaces of its own: scripts/image-test.sh PACKAGE
# Needs root.
set -euo pipefail
package=$(realpath "$1")
cd "$(dirname "$0")/.."
if [ "$(id -u)" -ne 0 ]; then
    echo "image-test: run it as root: it makes namespaces and mounts" >&2
    exit 1
fi

work=$(mktemp -d)
root=$work/root
container=
cleanup() {
    if [ -n "$container" ]; then kill -KILL "$container" && wait "$container" || true; fi
    rm -rf "$work"
}
trap cleanup EXIT
. scripts/expect.sh
on_failure() { cat "$work/log" >&2; }

image=$(scripts/image.sh "$package" "$work")
size=$(stat -c %s "$image")
expect "the image has $((size / 1000000)) MB, which is less than 60" test "$size" -lt 60000000
again=$(scripts/image.sh "$package" "$work/again")
expect "it is the same bytes each time" cmp "$image" "$again"

mkdir "$work/layout" "$root" "$work/data" "$work/configuration"
tar -C "$work/layout" -xf "$image"
expect "each blob is what its name says" sh -c \
    'cd "$1" && for blob in *; do echo "$blob  $blob"; done | sha256sum --check --quiet' \
    sh "$work/layout/blobs/sha256"
manifest() { tr -d '\n' < "$work/layout/manifest.json" | sed -nE "s/$1/\\1/p"; }
tar -C "$root" -xf "$work/layout/$(manifest '.*"Layers":\["([^"]+)"\].*')"
configuration=$work/layout/$(manifest '.*"Config":"([^"]+)".*')
expect "its user is a number" grep -q '"User":"64100:64100"' "$configuration"
expect "there is no shell in it" test -z "$(find "$root" -name sh -o -name bash -o -name dash)"

chown 64100:64100 "$work/data"
sed 's/127.0.0.1:8080/0.0.0.0:8080/' conf/examples/quick-start.yaml \
    > "$work/configuration/sallyport.yaml"
unshare --mount --net --pid --fork --kill-child sh -ec '
    ip link set lo up
    mount --bind "$1/root" "$1/root"
    mount --bind "$1/data" "$1/root/var/lib/sallyport"
    mount --bind "$1/configuration" "$1/root/etc/sallyport"
    mount -t tmpfs none "$1/root/tmp"
    mount -t proc none "$1/root/proc"
    mount -o remount,bind,ro "$1/root"
    exec setpriv --no-new-privs chroot --userspec=64100:64100 "$1/root" /usr/bin/sallyport run
' sh "$work" > "$work/log" 2>&1 &
container=$!

# As an engine runs the health check: the same program, in the same container.
healthcheck() {
    local first
    first=$(cut -d' ' -f1 "/proc/$container/task/$container/children")
    nsenter -t "$first" --mount --net --pid setpriv --no-new-privs \
        chroot --userspec=64100:64100 "$root" /usr/bin/sallyport healthcheck
}
expect "the gateway starts in it, and its health check says ready" eventually healthcheck
expect "its registry is in the volume" test -s "$work/data/registry.db"
first=$(cut -d' ' -f1 "/proc/$container/task/$container/children")
kill -TERM "$first"
status=0
wait "$container" || status=$?
container=
expect "it drains on SIGTERM and exits with 0" test "$status" = 0
