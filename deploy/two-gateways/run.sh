#!/usr/bin/env bash
# Starts PostgreSQL, Redis, an API and two gateways that share them, all of it below one directory,
# and shows that what one gateway has accepted the other refuses:
# deploy/two-gateways/run.sh [--keep] [--programs FOLDER] DIRECTORY
# With --keep everything goes on running until Ctrl-C. DIRECTORY must not exist; logs and data stay
# there. FOLDER has sallyport and sallyport-lab (default: .build/release).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
usage="usage: deploy/two-gateways/run.sh [--keep] [--programs FOLDER] DIRECTORY"
keep=no programs=$here/../../.build/release directory=
while [ $# -gt 0 ]; do
    case "$1" in
        --keep) keep=yes ;;
        --programs) programs=${2:?$usage} && shift ;;
        -*) echo "$usage" >&2 && exit 2 ;;
        *) directory=$1 ;;
    esac
    shift
done
[ -n "$directory" ] || { echo "$usage" >&2 && exit 2; }
for program in sallyport sallyport-lab; do
    [ -x "$programs/$program" ] ||
        { echo "two-gateways: no $programs/$program: make build" >&2 && exit 1; }
done
postgres=$(find /usr/lib/postgresql/*/bin -name initdb 2>/dev/null | sort -V | tail -n 1)
postgres=${postgres%/initdb}
for program in "$postgres/postgres" redis-server nginx curl openssl; do
    command -v "$program" >/dev/null || {
        echo "two-gateways: $program is missing:" \
            "apt-get install postgresql redis-server nginx-light curl openssl" >&2
        exit 1
    }
done
mkdir "$directory"
directory=$(cd "$directory" && pwd)

children=()
cleanup() {
    trap - EXIT INT TERM
    # The last one first, so that no gateway misses its stores.
    for ((index = ${#children[@]} - 1; index >= 0; index--)); do
        kill "${children[index]}" 2>/dev/null || true
        wait "${children[index]}" 2>/dev/null || true
    done
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Waits for words in a log, as long as the process that writes it lives.
await() {
    local file=$1 words=$2 process=$3
    for _ in $(seq 600); do
        grep -qF "$words" "$file" 2>/dev/null && return
        kill -0 "$process" 2>/dev/null || break
        sleep 0.05
    done
    echo "two-gateways: did not start; $file says:" >&2
    cat "$file" >&2
    exit 1
}

mapfile -t ports < <("$programs/sallyport-lab" ports 7)
export DIRECTORY=$directory POSTGRES_PORT=${ports[0]} REDIS_PORT=${ports[1]} API_PORT=${ports[2]}

umask 077
openssl rand -hex 16 >"$directory/database-password"
openssl rand -hex 16 >"$directory/redis-password"
openssl rand -base64 32 >"$directory/challenge-keys"

# PostgreSQL refuses to run as root.
as_postgres=()
mkdir "$directory/postgres"
if [ "$(id -u)" -eq 0 ]; then
    chmod 711 "$directory"
    chown postgres:postgres "$directory/postgres"
    as_postgres=(setpriv --reuid=postgres --regid=postgres --init-groups)
fi
"${as_postgres[@]}" "$postgres/initdb" -D "$directory/postgres/data" -U postgres -E UTF8 \
    --auth-local=trust --auth-host=scram-sha-256 --locale=C.UTF-8 >"$directory/initdb.log"
"${as_postgres[@]}" "$postgres/postgres" -D "$directory/postgres/data" -p "$POSTGRES_PORT" \
    -c listen_addresses=127.0.0.1 -c unix_socket_directories="$directory/postgres" \
    -c lc_messages=C 2>"$directory/postgres.log" &
children+=($!)
await "$directory/postgres.log" 'ready to accept connections' $!
"$postgres/psql" -q -v ON_ERROR_STOP=1 -h "$directory/postgres" -p "$POSTGRES_PORT" -U postgres \
    -v password="$(cat "$directory/database-password")" <<'SQL'
CREATE ROLE sallyport LOGIN PASSWORD :'password';
CREATE DATABASE sallyport OWNER sallyport;
SQL

# The password is on standard input, where no list of processes shows it.
redis-server - <<REDIS >"$directory/redis.log" &
bind 127.0.0.1
port $REDIS_PORT
dir $directory
save ""
maxmemory-policy noeviction
requirepass $(cat "$directory/redis-password")
REDIS
children+=($!)
await "$directory/redis.log" 'Ready to accept connections' $!

cat >"$directory/nginx.conf" <<NGINX
daemon off;
master_process off;
pid $directory/nginx.pid;
error_log stderr notice;
events { worker_connections 256; }
http {
    access_log off;
    client_body_temp_path $directory/body;
    proxy_temp_path $directory/proxy;
    fastcgi_temp_path $directory/fastcgi;
    uwsgi_temp_path $directory/uwsgi;
    scgi_temp_path $directory/scgi;
    server {
        listen 127.0.0.1:$API_PORT;
        default_type text/plain;
        location / { return 200 "the API: \$http_x_attest_result\n"; }
    }
}
NGINX
nginx -e stderr -p "$directory" -c "$directory/nginx.conf" 2>"$directory/nginx.log" &
children+=($!)
await "$directory/nginx.log" getrlimit $!

"$programs/sallyport-lab" root --state "$directory/apple.json" --pem "$directory/apple.pem"
start_gateway() {
    local name=$1
    PORT=$2 ADMIN_PORT=$3 "$programs/sallyport" run -c "$here/sallyport.yaml" \
        >"$directory/$name-access.log" 2>"$directory/$name-events.log" &
    children+=($!)
    await "$directory/$name-events.log" '"event":"ready"' $!
}
one=127.0.0.1:${ports[3]} two=127.0.0.1:${ports[4]}
start_gateway one "${ports[3]}" "${ports[5]}"
start_gateway two "${ports[4]}" "${ports[6]}"

cat <<TEXT
PostgreSQL     127.0.0.1:$POSTGRES_PORT
Redis          127.0.0.1:$REDIS_PORT
API            127.0.0.1:$API_PORT
gateway one    $one, for operators http://127.0.0.1:${ports[5]}/
gateway two    $two, for operators http://127.0.0.1:${ports[6]}/

TEXT

device() {
    local action=$1
    shift
    "$programs/sallyport-lab" device "$action" --state "$directory/device.json" "$@"
}
# Sends what was signed to a gateway; fails if the answer is another than it should be.
expect() {
    local what=$1 gateway=$2 status=$3 code=$4 answer
    answer=$(curl -s -w '\n%{http_code}' -H "@$directory/signed" "http://$gateway/api/hello")
    if [ "${answer##*$'\n'}" != "$status" ] || [[ "$answer" != *"$code"* ]]; then
        echo "FAILED  $what: $answer" >&2
        exit 1
    fi
    echo "ok  $what: $status${code:+ $code}"
}
device new --app ABCDE12345.com.example.app >/dev/null
device attest --apple "$directory/apple.json" --gateway "$one" >/dev/null
echo "ok  a simulated device has enrolled its key at gateway one"
device sign --gateway "$one" GET /api/hello >"$directory/signed"
expect "its request at gateway one" "$one" 200 ""
expect "the same request at gateway two" "$two" 401 assertion_replayed
device sign --gateway "$one" GET /api/hello >"$directory/signed"
expect "another request, with a challenge of gateway one, at gateway two" "$two" 200 ""
expect "the same request at gateway one" "$one" 401 assertion_replayed

if [ "$keep" = yes ]; then
    echo
    echo "Still running. Ctrl-C ends it."
    # A signal ends this at once; whichever ends by itself ends all.
    wait -n
    exit 1
fi
