# Starts what the benchmarks measure, each on one core with one thread. Sourced, after
# `folder` (scratch), `build` (release binaries), `server_cpu` and `load_cpu` are set.

children=()
cleanup() {
    trap - EXIT INT TERM
    for child in "${children[@]}"; do kill "$child" 2>/dev/null || true; done
    for child in "${children[@]}"; do wait "$child" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

lab=$build/sallyport-lab
app=ABCDE12345.com.example.app
key_seed=benchmark
mapfile -t ports < <("$lab" ports 8)

# spawn CPU LOG COMMAND...: sets `spawned` to the process id.
spawn() {
    local cpu=$1 log=$2
    shift 2
    taskset -c "$cpu" "$@" >"$folder/$log.out" 2>"$folder/$log.log" &
    spawned=$!
    children+=("$spawned")
}

# await LOG WORDS: until a line of what the last spawned process wrote holds the words.
await() {
    for _ in $(seq 1200); do
        grep -qF "$2" "$folder/$1.log" "$folder/$1.out" 2>/dev/null && return
        kill -0 "$spawned" 2>/dev/null || break
        sleep 0.05
    done
    echo "$1 did not start:" >&2
    cat "$folder/$1.log" >&2
    exit 1
}

# await_port PORT
await_port() {
    for _ in $(seq 200); do
        (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
        sleep 0.05
    done
    echo "nothing listens on port $1" >&2
    exit 1
}

nginx_configuration() {
    cat <<CONF
daemon off;
master_process off;
pid $1.pid;
events { worker_connections 4096; }
http {
    access_log off;
    keepalive_timeout 300s;
    keepalive_requests 100000000;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    $2
}
CONF
}

start_nginx() {
    local name=$1 cpu=$2
    spawn "$cpu" "$name" nginx -e stderr -p "$folder" -c "$name.conf" \
        -g 'error_log stderr notice; worker_rlimit_nofile 16384;'
    await "$name" getrlimit
}

# The upstream of all three: an nginx that answers from memory.
start_upstream() {
    upstream_port=${ports[0]}
    nginx_configuration upstream "server {
        listen 127.0.0.1:$upstream_port backlog=4096;
        default_type text/plain;
        location / { return 200 \"hello from the upstream\\n\"; }
    }" >"$folder/upstream.conf"
    start_nginx upstream "$load_cpu"
    upstream_process=$spawned
}

start_nginx_proxy() {
    nginx_port=${ports[1]}
    nginx_configuration nginx "upstream api {
        server 127.0.0.1:$upstream_port;
        keepalive 64;
        keepalive_requests 100000000;
    }
    server {
        listen 127.0.0.1:$nginx_port backlog=4096;
        location / {
            proxy_pass http://api;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_set_header Host \$host;
            proxy_set_header X-Forwarded-For \$remote_addr;
            proxy_set_header X-Forwarded-Proto \$scheme;
            proxy_set_header X-Request-Id \$request_id;
        }
    }" >"$folder/nginx.conf"
    start_nginx nginx "$server_cpu"
    nginx_process=$spawned
}

start_haproxy() {
    haproxy_port=${ports[2]}
    cat >"$folder/haproxy.conf" <<CONF
global
    nbthread 1
    maxconn 4096
defaults
    mode http
    option forwardfor
    http-reuse always
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend public
    bind 127.0.0.1:$haproxy_port
    default_backend api
backend api
    server upstream 127.0.0.1:$upstream_port
CONF
    spawn "$server_cpu" haproxy haproxy -db -f "$folder/haproxy.conf"
    haproxy_process=$spawned
    await_port "$haproxy_port"
}

# start_sallyport NAME PORT COUNTERS [MORE]: sets `spawned`.
start_sallyport() {
    local name=$1 port=$2 counters=$3 more=${4:-}
    cat >"$folder/$name.yaml" <<CONF
workers: 1
listeners: [{ bind: "127.0.0.1:$port" }]
apps: [{ id: $app }]
registry: { sqlite: $folder/$name.db }
counters: $counters
upstreams: { api: { servers: ["127.0.0.1:$upstream_port"] } }
routes:
  - { name: api, path: /api/*, upstream: api, attest: { mode: enforce } }
  - { name: rest, path: /*, upstream: api, attest: { mode: "off" } }
log: { access: "off" }
$more
CONF
    if [ -f "$folder/keys.jsonl" ]; then
        "$build/sallyport" keys import -c "$folder/$name.yaml" "$folder/keys.jsonl" \
            >"$folder/$name-import.log" 2>&1 || { cat "$folder/$name-import.log" >&2; exit 1; }
    fi
    spawn "$server_cpu" "$name" "$build/sallyport" run -c "$folder/$name.yaml"
    await "$name" '"event":"ready"'
}

# processor_ticks PID: user and system time in hundredths of a second (proc(5)).
processor_ticks() {
    sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

# resident_kib PID
resident_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

# member NAME: a number out of one line of JSON.
member() { sed -E "s/.*\"$1\":([0-9.eE+-]+).*/\\1/"; }
