#!/usr/bin/env bash
# Starts nginx, an AI service and the gateway, lets simulated devices try them, and prints what came
# of it: demo/run.sh BUILD_FOLDER [--keep | --then COMMAND...]. With --keep all go on running until
# Ctrl-C; with --then until COMMAND has ended, which gets the address of the admin listener.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
keep=${2:-}
app=ABCDE12345.com.example.app
package=com.example.app
signing_digest=$(printf 'ab%.0s' {1..32})
# Short, so that the row about an expired challenge need not wait long.
challenge_seconds=4

folder=$(mktemp -d "${TMPDIR:-/tmp}/sallyport-demo-XXXXXX")
children=()
cleanup() {
    trap - EXIT INT TERM
    children+=(${gateway_process:+"$gateway_process"})
    for child in "${children[@]}"; do kill "$child" 2>/dev/null || true; done
    for child in "${children[@]}"; do wait "$child" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Waits for words in a log, as long as the process that writes it lives.
await() {
    local file=$1 words=$2 process=$3
    for _ in $(seq 300); do
        grep -qF "$words" "$file" 2>/dev/null && return
        kill -0 "$process" 2>/dev/null || break
        sleep 0.05
    done
    echo "did not start; $file says:" >&2
    cat "$file" >&2
    exit 1
}

# What stands in for Apple: the root of the simulated devices, and DeviceCheck.
apple_folder=$folder/apple
mkdir "$apple_folder"
"$build/sallyport-lab" apple --directory "$apple_folder" >"$folder/apple.log" 2>&1 &
children+=($!)
await "$folder/apple.log" '"control"' $!

# What stands in for Google: the root of the simulated phones, and a list of withdrawn certificates.
"$build/sallyport-lab" root --platform android --state "$folder/google.json" \
    --pem "$folder/google.pem"
withdraw_nothing() { echo '{"entries":{}}' >"$folder/withdrawn.json"; }
withdraw_nothing

# What stands in for an AI service: over TLS, with an API key that no app has.
(umask 077; openssl rand -hex 16 >"$folder/model-key")
openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$folder/model.key" -out "$folder/model.crt" \
    2>/dev/null
shown=X-Demo-Row,X-Attest-Result,X-Attest-Tier,X-Attest-Security-Level,X-Attest-Key,Api-Key
"$build/sallyport-lab" model --key "$folder/model-key" --interval 10 --show "$shown" \
    --certificate "$folder/model.crt" --certificate-key "$folder/model.key" \
    >"$folder/model.log" 2>&1 &
children+=($!)
await "$folder/model.log" '"port"' $!
model_port=$(sed -n '1s/[^0-9]//gp' "$folder/model.log")

mapfile -t ports < <("$build/sallyport-lab" ports 3)
write_configuration() {
    local seconds=$1 file
    for file in nginx.conf sallyport.yaml; do
        sed -e "s|@NGINX_PORT@|${ports[0]}|" -e "s|@GATEWAY_PORT@|${ports[1]}|" \
            -e "s|@ADMIN_PORT@|${ports[2]}|" -e "s|@FOLDER@|$folder|" \
            -e "s|@MODEL_PORT@|$model_port|" \
            -e "s|@CHALLENGE_SECONDS@|$seconds|" -e "s|@SIGNING_DIGEST@|$signing_digest|" \
            "$here/$file.in" >"$folder/$file"
    done
    cat "$apple_folder/apple.yaml" >>"$folder/sallyport.yaml"
}
write_configuration "$challenge_seconds"
gateway=127.0.0.1:${ports[1]}

nginx -e stderr -p "$folder" -c nginx.conf -g 'error_log stderr notice;' \
    2>"$folder/nginx-events.log" &
children+=($!)
await "$folder/nginx-events.log" getrlimit $!

start_gateway() {
    # What the last one said is not this one's word.
    : >"$folder/events.log"
    "$build/sallyport" run -c "$folder/sallyport.yaml" \
        >>"$folder/access.log" 2>"$folder/events.log" &
    gateway_process=$!
    await "$folder/events.log" '"event":"ready"' "$gateway_process"
}
start_gateway

echo
device_token=$("$build/sallyport-lab" apple token --directory "$apple_folder" \
    --team "${app%%.*}" --name "an old device")
echo "nginx answers on 127.0.0.1:${ports[0]}, the gateway in front of it on $gateway."
echo "A simulated device of $app and a phone of $package enrol and send requests:"
echo
"$build/sallyport-lab" demo --gateway "$gateway" --apple "$apple_folder/apple.json" --app "$app" \
    --device-token "$device_token" \
    --google "$folder/google.json" --package "$package" --signing-digest "$signing_digest" \
    --withdrawn "$folder/withdrawn.json" --gateway-process "$gateway_process" \
    --device "$folder/device.json" --nginx-log "$folder/nginx-access.log" \
    --model-log "$folder/model.log" \
    --challenge-seconds "$challenge_seconds"
echo "Every row is as it should be."

if [ "$keep" = --then ]; then "${@:3}" "http://127.0.0.1:${ports[2]}"; fi

if [ "$keep" = --keep ]; then
    # By hand, a challenge should live as long as it does by default; embedded counters, which
    # remember challenges, let that grow at a start only.
    write_configuration 120
    withdraw_nothing
    kill "$gateway_process"
    wait "$gateway_process"
    start_gateway
    cat <<TEXT

Still running. In another terminal:

  curl -si http://$gateway/health
  curl -si http://$gateway/api/transfer -d '{"amount":10}'
  $build/sallyport-lab device sign --state $folder/device.json --gateway $gateway \\
      --body '{"amount":10}' POST /api/transfer |
      curl -si http://$gateway/api/transfer -d '{"amount":10}' -H @-
  chat='{"model":"gpt-x","messages":[{"role":"user","content":"hello"}],"max_tokens":9}'
  $build/sallyport-lab device sign --state $folder/device.json --gateway $gateway \\
      --body "\$chat" POST /v1/chat/completions |
      curl -si http://$gateway/v1/chat/completions --json "\$chat" -H @-
  curl -s http://127.0.0.1:${ports[2]}/metrics
  $build/sallyport-lab device new --platform android --state $folder/phone.json \\
      --app $package --signing-digest $signing_digest
  $build/sallyport-lab device attest --state $folder/phone.json --google $folder/google.json \\
      --gateway $gateway
  tail $folder/access.log $folder/events.log

Ctrl-C ends it.
TEXT
    wait "$gateway_process"
fi
