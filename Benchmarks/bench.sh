#!/usr/bin/env bash
# Sallyport beside nginx and HAProxy: Benchmarks/bench.sh BUILD_FOLDER
#
# ROUNDS (5) alternating rounds of SECONDS_EACH (4); medians are printed. The servers run on
# SERVER_CPU (0), load and upstream on LOAD_CPU (1).
set -euo pipefail
build=$(cd "$1" && pwd)
rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-4}
server_cpu=${SERVER_CPU:-0}
load_cpu=${LOAD_CPU:-1}
connections=${CONNECTIONS:-32}
device_count=${DEVICES:-1024}
folder=$(mktemp -d "${TMPDIR:-/tmp}/sallyport-bench-XXXXXX")
# shellcheck source=Benchmarks/servers.sh
. "$(dirname "$0")/servers.sh"

echo "Starting nginx, HAProxy, Redis and Sallyport ..." >&2
"$lab" seed --count "$device_count" --seed "$key_seed" --app "$app" >"$folder/keys.jsonl"
start_upstream
start_nginx_proxy
start_haproxy
redis_port=${ports[3]}
spawn "$load_cpu" redis redis-server --port "$redis_port" --bind 127.0.0.1 --save "" \
    --appendonly no --dir "$folder"
await redis 'Ready to accept connections'
start_sallyport embedded "${ports[4]}" embedded
embedded_process=$spawned
start_sallyport redis-counters "${ports[5]}" "{ redis: \"redis://127.0.0.1:$redis_port/0\" }"
redis_process=$spawned

# record NAME REQUESTS_PER_SECOND PROCESSOR_MICROSECONDS SHARE
record() { printf '%s %s %s %s\n' "$@" >>"$folder/results"; }

plain() {
    local name=$1 port=$2 process=$3 before after count output share
    # Warm: connections are open and pools full before anything is counted.
    taskset -c "$load_cpu" wrk -t1 -c"$connections" -d1s "http://127.0.0.1:$port/" >/dev/null
    before=$(processor_ticks "$process")
    output=$(taskset -c "$load_cpu" wrk -t1 -c"$connections" -d"${seconds}s" \
        "http://127.0.0.1:$port/")
    after=$(processor_ticks "$process")
    if grep -q 'Non-2xx\|Socket errors' <<<"$output"; then
        echo "$name: $output" >&2
        exit 1
    fi
    count=$(awk '/requests in/ { print $1 }' <<<"$output")
    share=$(awk -v t=$((after - before)) -v s="$seconds" 'BEGIN { print t / 100 / s }')
    record "$name" "$(awk '/Requests\/sec/ { print $2 }' <<<"$output")" \
        "$(awk -v t=$((after - before)) -v n="$count" 'BEGIN { print t * 10000 / n }')" "$share"
}

verified() {
    local name=$1 port=$2 process=$3 line
    line=$(taskset -c "$load_cpu" "$lab" load --gateway "127.0.0.1:$port" --path /api/x \
        --method POST --body-bytes 64 --seed "$key_seed" --devices "$device_count" --app "$app" \
        --connections "$connections" --seconds "$seconds" --pid "$process" \
        --first-counter "$((round * 1000000))")
    record "$name" "$(member requests_per_second <<<"$line")" \
        "$(member server_cpu_us_per_request <<<"$line")" "$(member server_cpu_share <<<"$line")"
}

# One ECDSA verification on P-256, by OpenSSL's own measurement.
verification() {
    local rate
    rate=$(taskset -c "$server_cpu" openssl speed -seconds 2 ecdsap256 2>/dev/null |
        awk '/256 bits ecdsa/ { print $NF }')
    record openssl "$rate" "$(awk -v r="$rate" 'BEGIN { print 1e6 / r }')" 1
}

for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    verification
    plain nginx "$nginx_port" "$nginx_process"
    plain sallyport "${ports[4]}" "$embedded_process"
    plain haproxy "$haproxy_port" "$haproxy_process"
    verified verified-embedded "${ports[4]}" "$embedded_process"
    verified verified-redis "${ports[5]}" "$redis_process"
done

# median NAME COLUMN
median() {
    awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$folder/results" | sort -g |
        awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

row() {
    local title=$1 name=$2 against_rate=$3 against_time=$4 rate time share
    rate=$(median "$name" 2)
    time=$(median "$name" 3)
    share=$(median "$name" 4)
    printf '%-34s %10.0f %12.1f %8.0f%% %9s %9s\n' "$title" "$rate" "$time" \
        "$(awk -v s="$share" 'BEGIN { print s * 100 }')" "$(ratio "$rate" "$against_rate")" \
        "$(ratio "$against_time" "$time")"
}

verification_time=$(median openssl 3)
nginx_rate=$(median nginx 2)
nginx_time=$(median nginx 3)
plain_rate=$(median sallyport 2)
plain_time=$(median sallyport 3)
limit_rate=$(awk -v p="$plain_rate" -v v="$verification_time" \
    'BEGIN { print 1e6 / (1e6 / p + v) }')
limit_time=$(awk -v p="$plain_time" -v v="$verification_time" 'BEGIN { print p + v }')

cat <<TEXT

One core for each server (CPU $server_cpu), load and upstream on CPU $load_cpu, $connections connections,
medians of $rounds rounds of $seconds s. CPU us is the server's processor time for one request, the
steadier figure on a machine with other work. A server whose share of its core is well below 100%
was held back by the load or the upstream: then compare the last column.
TEXT
printf '\n%-34s %10s %12s %9s %9s %9s\n' 'plain proxying' 'req/s' 'CPU us/req' 'core' \
    'x nginx' 'x by CPU'
row nginx nginx "$nginx_rate" "$nginx_time"
row HAProxy haproxy "$nginx_rate" "$nginx_time"
row Sallyport sallyport "$nginx_rate" "$nginx_time"
printf '\n%-34s %10s %12s %9s %9s %9s\n' 'verified requests' 'req/s' 'CPU us/req' 'core' \
    'x limit' 'x by CPU'
printf '%-34s %10.0f %12.1f\n' 'one OpenSSL P-256 verification' \
    "$(median openssl 2)" "$verification_time"
printf '%-34s %10.0f %12.1f\n' 'limit: own plain + verification' "$limit_rate" "$limit_time"
row 'Sallyport, embedded counters' verified-embedded "$limit_rate" "$limit_time"
row 'Sallyport, counters in Redis' verified-redis "$limit_rate" "$limit_time"
echo
printf 'aims: plain at least 0.90 x nginx, verified at least 0.80 x limit\n'
