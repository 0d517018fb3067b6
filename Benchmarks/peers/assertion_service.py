"""Verifies App Attest assertions for nginx's auth_request, as a team with Python would.

An ASGI application without a framework, for uvicorn with uvloop and httptools. Public keys,
counters and spent challenges lie in Redis. A challenge is its expiry, a nonce, and an HMAC over
both.
"""

import base64
import binascii
import hashlib
import hmac
import json
import os
import time
import urllib.parse

import cbor2
import redis.asyncio
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

CHALLENGE_SECONDS = 120
RP_ID_HASH = hashlib.sha256(os.environ["APP"].encode()).digest()
SECRET = os.urandom(32)
ALGORITHM = ec.ECDSA(hashes.SHA256())

store = redis.asyncio.Redis.from_url(os.environ["REDIS_URL"])
with open(os.path.join(os.path.dirname(__file__), "accept.lua"), encoding="utf-8") as script:
    accept = store.register_script(script.read())
public_keys = {}


class Refused(Exception):
    """A request that proves nothing."""


def seal(text):
    return hmac.digest(SECRET, text, "sha256")


def new_challenge():
    text = b"%010d" % (time.time() + CHALLENGE_SECONDS) + os.urandom(16)
    return base64.b64encode(text + seal(text))


def open_challenge(challenge):
    """The nonce of a challenge that is ours and has not expired."""
    data = base64.b64decode(challenge, validate=True)
    text, code = data[:26], data[26:]
    if not hmac.compare_digest(seal(text), code) or int(text[:10]) < time.time():
        raise Refused
    return text[10:]


async def public_key(key_id):
    key = public_keys.get(key_id)
    if key is None:
        encoded = await store.get(b"key:" + key_id)
        if encoded is None:
            raise Refused
        key = public_keys[key_id] = ec.EllipticCurvePublicKey.from_encoded_point(
            ec.SECP256R1(), base64.b64decode(encoded))
    return key


async def check(headers):
    """Returns the digest of the body that was signed, once everything else is known to be right."""
    key_id = headers[b"x-app-attest-key-id"]
    assertion = cbor2.loads(base64.b64decode(headers[b"x-app-attest-assertion"], validate=True))
    client_data = base64.b64decode(headers[b"x-app-attest-client-data"], validate=True)
    claims = json.loads(client_data)
    nonce = open_challenge(claims["challenge"])
    path, _, query = headers[b"x-original-uri"].partition(b"?")
    if (claims["method"].encode() != headers[b"x-original-method"]
            or claims["path"].encode() != urllib.parse.unquote_to_bytes(path)
            or claims.get("query", "").encode() != query):
        raise Refused
    data = assertion["authenticatorData"]
    key = await public_key(key_id)
    # The nonce is the message that was signed: ECDSA hashes it once more.
    message = hashlib.sha256(data + hashlib.sha256(client_data).digest()).digest()
    key.verify(assertion["signature"], message, ALGORITHM)
    if len(data) < 37 or data[:32] != RP_ID_HASH:
        raise Refused
    counter = int.from_bytes(data[33:37], "big")
    if await accept(keys=[b"counter:" + key_id, b"spent:" + nonce],
                    args=[counter, CHALLENGE_SECONDS * 1000]) != 1:
        raise Refused
    return claims["bodySHA256"].encode()


async def app(scope, receive, send):
    challenge = new_challenge()
    status, body, more = 200, b"", [(b"x-app-attest-challenge", challenge)]
    if scope["path"] == "/assert/challenge":
        body, more = challenge, []
    else:
        try:
            more.append((b"x-attest-body-sha256", await check(dict(scope["headers"]))))
        except (Refused, InvalidSignature, KeyError, TypeError, ValueError, AttributeError,
                binascii.Error, cbor2.CBORDecodeError):
            status = 401
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-length", b"%d" % len(body)), *more]})
    await send({"type": "http.response.body", "body": body})
