#!/usr/bin/env bash
# Memory and start-up: Benchmarks/soak.sh BUILD_FOLDER
#
# SECONDS_OF_LOAD (600) of verified requests with the memory sampled, a 1 GiB answer streamed, and
# KEYS (1000000) imported. Exits with 1 where a bound of the table does not hold.
set -euo pipefail
build=$(cd "$1" && pwd)
load_seconds=${SECONDS_OF_LOAD:-600}
key_count=${KEYS:-1000000}
server_cpu=${SERVER_CPU:-0}
load_cpu=${LOAD_CPU:-1}
device_count=1024
folder=$(mktemp -d "${TMPDIR:-/tmp}/sallyport-soak-XXXXXX")
# shellcheck source=Benchmarks/servers.sh
. "$(dirname "$0")/servers.sh"

failed=0
# check TITLE VALUE BOUND UNIT: VALUE must not be above BOUND.
check() {
    local verdict=ok
    if awk -v v="$2" -v b="$3" 'BEGIN { exit !(v > b) }'; then
        verdict=BEYOND
        failed=1
    fi
    printf '%-7s %-52s %10s  at most %s %s\n' "$verdict" "$1" "$2" "$3" "$4"
}

mebibytes() { awk -v k="$1" 'BEGIN { printf "%.1f", k / 1024 }'; }

# peak_kib PID: the most memory it had resident since `forget_peak PID` (proc(5)).
peak_kib() { awk '/^VmHWM/ { print $2 }' "/proc/$1/status"; }
forget_peak() { echo 5 >"/proc/$1/clear_refs"; }

nanoseconds() { date +%s%N; }

# --- an upstream with a small answer and a large one

upstream_port=${ports[0]}
truncate -s 1G "$folder/large"
nginx_configuration upstream "server {
    listen 127.0.0.1:$upstream_port backlog=4096;
    root $folder;
    location / { return 200 \"hello from the upstream\\n\"; }
    location = /large { }
}" >"$folder/upstream.conf"
start_nginx upstream "$load_cpu"
"$lab" seed --count "$device_count" --seed "$key_seed" --app "$app" >"$folder/keys.jsonl"
start_sallyport soak "${ports[4]}" embedded
gateway=127.0.0.1:${ports[4]}
gateway_process=$spawned

# --- load

load() {
    taskset -c "$load_cpu" "$lab" load --gateway "$gateway" --path /api/x --method POST \
        --body-bytes 64 --seed "$key_seed" --devices "$device_count" --app "$app" \
        --seconds "$1" --warm-up 0 --first-counter "$2"
}
# What grows while pools, caches and the table of spent challenges fill is not a leak: challenges
# live for 120 s, so the first sample is taken after that, or after a third of a shorter run.
settling=$((load_seconds / 3 < 130 ? load_seconds / 3 : 130))
echo "loading for $load_seconds s" >&2
load "$settling" 0 >"$folder/load-1.json"
settled=$(resident_kib "$gateway_process")
forget_peak "$gateway_process"
load $((load_seconds - settling)) 10000000 >"$folder/load-2.json"
grown=$(($(peak_kib "$gateway_process") - settled))

# --- a large answer

forget_peak "$gateway_process"
before=$(resident_kib "$gateway_process")
received=$(curl -s -o /dev/null -w '%{size_download}' "http://$gateway/large")
streamed=$(($(peak_kib "$gateway_process") - before))
if [ "$received" != 1073741824 ]; then
    echo "received $received bytes of 1 GiB" >&2
    failed=1
fi
kill "$gateway_process"
wait "$gateway_process" || failed=1

# --- a million keys

echo "importing $key_count keys" >&2
"$lab" seed --count "$key_count" --seed million --app "$app" >"$folder/keys.jsonl"
import_started=$(nanoseconds)
sed -e "s|soak.db|million.db|" "$folder/soak.yaml" >"$folder/million.yaml"
"$build/sallyport" keys import -c "$folder/million.yaml" "$folder/keys.jsonl" >&2
import_seconds=$(awk -v n=$(($(nanoseconds) - import_started)) 'BEGIN { printf "%.1f", n / 1e9 }')
rm "$folder/keys.jsonl"
start_started=$(nanoseconds)
spawn "$server_cpu" million "$build/sallyport" run -c "$folder/million.yaml"
for _ in $(seq 6000); do
    grep -q '"event":"ready"' "$folder/million.log" && break
    kill -0 "$spawned"
    sleep 0.01
done
start_seconds=$(awk -v n=$(($(nanoseconds) - start_started)) 'BEGIN { printf "%.2f", n / 1e9 }')
# More keys in use than the cache holds: memory is bounded by the setting, not by their number.
forget_peak "$spawned"
taskset -c "$load_cpu" "$lab" load --gateway "$gateway" --path /api/x --method POST \
    --seed million --devices "$((key_count < 20000 ? key_count : 20000))" --app "$app" \
    --seconds 10 --warm-up 0 >"$folder/load-3.json"
million_peak=$(peak_kib "$spawned")

echo
echo "load: $(cat "$folder/load-2.json")"
echo "import: $key_count keys in $import_seconds s"
echo
check 'growth under load once settled' "$(mebibytes "$grown")" 8 MiB
check 'growth while 1 GiB streams through' "$(mebibytes "$streamed")" 20 MiB
check "start-up with $key_count keys" "$start_seconds" 2 s
check "memory with $key_count keys, 20000 in use" "$(mebibytes "$million_peak")" 100 MiB
exit "$failed"
