#!/bin/sh
# Asks the gateway about a request that somebody else has received. Prints what to do with it.
# If `allow` is true: take out the client's headers that `remove` names, then add the X-Attest-* of
# `headers`. As it stands, this prints `assertion_malformed`: "..." is no assertion.
# Sends the digest of the whole body. Send `body_sha256` only if you hashed all of it.
digest=$(printf '%s' '{"amount":1}' | openssl dgst -sha256 -binary | base64)
curl --fail-with-body -sS http://127.0.0.1:8080/check \
    -H 'Content-Type: application/json' -d @- <<JSON
{
  "method": "POST",
  "target": "/api/transfer?to=7",
  "host": "api.example.com",
  "client": "203.0.113.9",
  "headers": { "X-App-Attest-Assertion": "...", "Content-Type": "application/json" },
  "body_sha256": "$digest"
}
JSON
