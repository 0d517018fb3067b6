#!/usr/bin/env bash
# Installs, runs, upgrades, removes and purges the package of a built `sallyport` on a Debian of its
# own, whose files, processes and addresses nobody else sees: scripts/package-test.sh PROGRAM
# `sallyport-lab` lies beside PROGRAM. Needs root, and a system on which systemd-nspawn can boot.
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/.."
if [ "$(id -u)" -ne 0 ]; then
    echo "package-test: run it as root: it makes a Debian with users of its own" >&2
    exit 1
fi

work=$(mktemp -d)
root=$work/root
machine=
cleanup() {
    if [ -n "$machine" ]; then
        inside systemctl --no-block poweroff 2> /dev/null || kill -KILL "$leader" || true
        wait "$machine" || true
    fi
    rm -rf "$work"
}
trap cleanup EXIT

. scripts/expect.sh
on_failure() {
    if [ -n "$machine" ]; then inside journalctl -u sallyport -o cat -n 30 >&2; fi
}
# Runs a command on the machine under test.
inside() {
    nsenter -t "$leader" --mount --uts --ipc --net --pid env -i DEBIAN_FRONTEND=noninteractive \
        PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C.UTF-8 "$@"
}
apt() { inside apt-get -q -y --no-install-recommends "$@"; }

# Two packages of the same program, so that one can follow the other; one of them made twice.
REVISION=1 scripts/package.sh "$program" "$work/first" > /dev/null
REVISION=1 scripts/package.sh "$program" "$work/again" > /dev/null
REVISION=2 scripts/package.sh "$program" "$work/second" > /dev/null
first=$(ls "$work"/first/*.deb) second=$(ls "$work"/second/*.deb)
expect "the package is the same bytes each time" cmp "$first" "$work"/again/*.deb
expect "lintian finds nothing" lintian --allow-root --fail-on error,warning "$first"

# Says which links of the package's pages lead to no file.
links_lead_to_files() {
    dpkg-deb -x "$1" "$work/files"
    find "$work/files/usr/share/doc" -name '*.md' -print0 | xargs -0 perl -0777 -ne '
        my ($folder) = $ARGV =~ m{(.*)/};
        for (m{\]\((?!\w+:)([^()#\s]+)}g, m{^\[[^]]+\]: (?!\w+:)([^#\s]+)}gm,
            m{\bsrc(?:set)?="(?!\w+:)([^"]+)"}g)
        {
            next if -e "$folder/$_";
            print "$ARGV: $_\n";
            $broken = 1;
        }
        END { exit $broken }'
}
expect "links of its pages lead to files" links_lead_to_files "$first"
expect "and they are a website too" test -s "$work/files/usr/share/doc/sallyport/html/index.html"

scripts/debian-root.sh minbase "$root" systemd systemd-sysv dbus nginx-light curl logrotate man-db
install -D -m 644 -t "$root/packages" "$first" "$second"
install -D -m 755 -t "$root/usr/local/bin" "$(dirname "$program")/sallyport-lab"
cat > "$root/etc/nginx/conf.d/api.conf" <<'NGINX'
server { listen 127.0.0.1:9001; location / { default_type text/plain; return 200 "hello\n"; } }
NGINX
# The machine has no network: what the package depends on comes before it starts.
chroot "$root" apt-get -q update > /dev/null
chroot "$root" apt-get -q -y --no-install-recommends --download-only install \
    "/packages/${first##*/}" > /dev/null

systemd-nspawn --quiet --directory="$root" --boot --register=no --keep-unit --private-network \
    --console=pipe < /dev/null > "$work/console" 2>&1 &
machine=$!
is_up() {
    leader=$(cat /proc/$machine/task/*/children | cut -d' ' -f1)
    [ -n "$leader" ] && [ "$(inside systemctl is-system-running --wait)" = running ]
}
if ! kill -0 "$machine" || ! eventually is_up; then
    cat "$work/console" >&2
    echo "package-test: systemd-nspawn cannot boot here: it needs cgroups of its own" >&2
    fail "systemd boots"
fi

# Installing
began=$(date +%s)
expect "apt installs it, with what it depends on" apt install "/packages/${first##*/}"
expect "its version is the program's" test \
    "$(inside sallyport version)" = "sallyport $(inside dpkg-query -W -f '${Version}' sallyport |
        cut -d- -f1)"
expect "the service runs" eventually inside systemctl is-active sallyport
expect "and starts with the machine" inside systemctl is-enabled sallyport
expect "the socket waits to be wanted" test \
    "$(inside systemctl is-enabled sallyport.socket)" = disabled
expect "sallyport healthcheck says ready" eventually inside sallyport healthcheck
expect "the installed configuration has no error" inside sallyport check
main() { inside systemctl show -P MainPID sallyport; }
expect "it runs as its own user" test "$(inside stat -c %U "/proc/$(main)")" = sallyport
expect "its configuration is for that user alone" test \
    "$(inside stat -c '%a %U:%G' /etc/sallyport /etc/sallyport/sallyport.yaml | tr '\n' ' ')" \
    = '750 root:sallyport 640 root:sallyport '
expect "its pages are in man" inside man -w sallyport sallyport.yaml

# As far as an app that proves itself; it is on a simulated device, under a root of its own.
inside sallyport-lab root --state /apple.json --pem /apple.pem > /dev/null
inside chmod 644 /apple.pem
inside tee -a /etc/sallyport/sallyport.yaml > /dev/null <<'YAML'
trust: { extra_roots: [/apple.pem] }
YAML
inside sed -i 's/mode: observe/mode: enforce/' /etc/sallyport/sallyport.yaml
expect "systemctl reload takes up a change" inside systemctl reload sallyport
device() {
    local action=$1
    shift
    inside sallyport-lab device "$action" --state /device.json "$@"
}
device new --app ABCDE12345.com.example.app > /dev/null
expect "a device enrols" eventually device attest --apple /apple.json --gateway 127.0.0.1:8080
verified() { device request --gateway 127.0.0.1:8080 GET /api/hello | grep -q hello; }
expect "and its request is verified" verified
ok "$(($(date +%s) - began)) s from before the installation to the first verified request"

# As the quick start goes on.
expect "sallyport doctor finds no fault" inside runuser -u sallyport -- sallyport doctor
expect "a route is explained" inside sallyport route GET https://api.example.com/api/x

# Running
answer() { inside curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:8080$1"; }
expect "a request reaches the API" test "$(answer /x)" = 200
expect "and one that proves nothing is refused" test "$(answer /api/x)" = 401
inside cp /etc/sallyport/sallyport.yaml /good.yaml
inside sh -c 'echo nonsense: 1 >> /etc/sallyport/sallyport.yaml'
if inside systemctl reload sallyport 2> /dev/null; then fail "a faulty change is reported"; fi
expect "a faulty change is reported, and changes nothing" test "$(answer /api/x)" = 401
inside cp /good.yaml /etc/sallyport/sallyport.yaml

# Logs
inside tee -a /etc/sallyport/sallyport.yaml > /dev/null <<'YAML'
log: { access: /var/log/sallyport/access.log }
YAML
inside systemctl restart sallyport
eventually inside sallyport healthcheck
answer /before > /dev/null
expect "the access log is a file" eventually inside grep -q /before /var/log/sallyport/access.log
expect "logrotate moves it away" inside logrotate -f /etc/logrotate.d/sallyport
wrote_new() { answer /after > /dev/null; inside grep -q /after /var/log/sallyport/access.log; }
expect "and the gateway goes on in a new one" eventually wrote_new

# Upgrading
cat > "$root/load.sh" <<'LOAD'
while [ ! -e /stop ]; do
    curl -s -o /dev/null -w '%{http_code}\n' http://127.0.0.1:8080/load >> /codes
done
LOAD
before=$(main)
inside sh /load.sh &
load=$!
eventually test -s "$root/codes"
expect "apt upgrades it, and asks nothing" apt install "/packages/${second##*/}"
began() { [ "$(inside journalctl -u sallyport -o cat | grep -c '"event":"started"')" -ge 3 ]; }
expect "the new program takes over" eventually began
expect "in the same process" test "$(main)" = "$before"
eventually inside sallyport healthcheck
touch "$root/stop"
wait "$load"
expect "no request was dropped ($(wc -l < "$root/codes") sent)" test \
    "$(sort "$root/codes" | uniq | tr '\n' ' ')" = '200 '
expect "what the operator changed is kept" inside grep -q 'mode: enforce' \
    /etc/sallyport/sallyport.yaml
expect "the registry is kept" inside test -s /var/lib/sallyport/registry.db

# Socket activation
mkdir "$root/etc/systemd/system/sallyport.socket.d"
cat > "$root/etc/systemd/system/sallyport.socket.d/address.conf" <<'UNIT'
[Socket]
ListenStream=
ListenStream=127.0.0.1:8080
UNIT
inside systemctl daemon-reload
inside systemctl enable sallyport.socket
inside systemctl stop sallyport
inside systemctl start sallyport.socket
expect "a connection to the socket starts the service" test "$(answer /x)" = 200
expect "which took the socket" test "$(inside systemctl is-active sallyport.socket)" = active

# Removing
expect "apt removes it" apt remove sallyport
expect "nothing of it listens" test "$(answer /x)" = 000
expect "configuration and keys stay" inside test -e /etc/sallyport/sallyport.yaml \
    -a -e /var/lib/sallyport/registry.db
expect "apt installs it again" apt install "/packages/${second##*/}"
expect "with both" eventually inside sallyport healthcheck
expect "apt purges it" apt purge sallyport
expect "and nothing is left" inside test ! -e /etc/sallyport -a ! -e /var/lib/sallyport \
    -a ! -e /var/log/sallyport -a ! -e /etc/logrotate.d/sallyport
