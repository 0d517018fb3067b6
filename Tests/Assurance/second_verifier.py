#!/usr/bin/env python3
"""A second verifier of App Attest's objects, which shares nothing with the gateway.

Written from Apple's pages "Validating apps that connect to your server" and "Assessing fraud risk",
and from the RFCs that they rest on, in another language and with other readers. compare.py holds it
against `sallyport explain`. Each function returns the name of the first check that fails and a
reason, or None; the names are those that `explain` prints.
"""

import hashlib
import re

from readers import (
    OCTETS, SEQUENCE, SET, Malformed, cbor, cbor_item, context, first_element, octets, oid, one,
    require, unsigned)
from x509 import (
    ECDSA_SHA256, Certificate, Message, Untrusted, is_signed, moment, point, trusted_path)

NONCE, APP_INFORMATION, EXTENDED_KEY_USAGE = (
    "1.2.840.113635.100.8.2", "1.2.840.113635.100.8.5", "2.5.29.37")
APP_ATTEST_USAGE = "1.2.840.113635.100.4.24"
RECEIPT_SIGNER_MARK = "1.2.840.113635.100.12.15"
# SHA-256 of the root that Apple uses for much else too: of it only signers of receipts count.
APPLE_ROOT_G3 = "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"
AAGUIDS = {
    b"appattest" + bytes(7): "production", b"appattestdevelop": "development",
    b"appattestsandbox": "development"}
ATTESTATION_BYTES_MAX = RECEIPT_BYTES_MAX = 16 * 1024
ASSERTION_BYTES_MAX = 4096
AUTHENTICATOR_DATA_BYTES_MAX = 1024
RECEIPT_FIELDS_MAX = 64


class Expected:
    """What is known beside the object; what is None is not compared."""

    def __init__(self, at, roots, client_data_hash=None, key_id=None, public_key=None, app_id=None,
                 environment=None):
        self.at, self.roots, self.client_data_hash = at, roots, client_data_hash
        self.key_id, self.public_key, self.app_id = key_id, public_key, app_id
        self.environment = environment


class Refused(Exception):
    def __init__(self, check, reason):
        self.verdict = check, reason


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def verdict(kind, data, expected):
    """None for a valid object, else the first failing check and the reason."""
    verify = {"attestation": attestation, "assertion": assertion, "receipt": receipt}[kind]
    try:
        verify(data, expected)
    except Refused as refused:
        return refused.verdict
    return None


def parse(check, reason, read, *arguments):
    try:
        return read(*arguments)
    except Malformed:
        raise Refused(check, reason) from None


def refuse_unless(condition, check, reason):
    if not condition:
        raise Refused(check, reason)


# Authenticator data.


class AuthenticatorData:
    """rpIdHash | flags | counter, in attestations a credential, and at the end perhaps a map."""

    def __init__(self, data, has_credential):
        require(37 <= len(data) <= AUTHENTICATOR_DATA_BYTES_MAX, "too short or long")
        self.rp_id_hash = data[:32]
        self.counter = int.from_bytes(data[33:37], "big")
        rest = data[37:]
        if has_credential:
            require(len(rest) >= 18, "no credential")
            self.aaguid, size = rest[:16], int.from_bytes(rest[16:18], "big")
            require(len(rest) >= 18 + size, "a credential id that ends early")
            self.credential_id = rest[18:18 + size]
            key, rest = cbor_item(rest[18 + size:])
            self.point = cose_point(key)
        if rest:
            require_extensions(cbor(rest))


def cose_point(key):
    """The uncompressed point of an ES256 key on P-256 (RFC 9052 section 7)."""
    require(isinstance(key, dict), "a key that is not a map")
    wanted = [(1, 2), (3, -7), (-1, 1)]
    require(all(is_integer(key.get(name), value) for name, value in wanted), "another kind of key")
    x, y = key.get(-2), key.get(-3)
    require(isinstance(x, bytes) and isinstance(y, bytes), "no coordinates")
    require(len(x) == 32 and len(y) == 32, "coordinates of another length")
    # Whether it is on the curve is not asked: it has to equal the certified one, which is.
    return b"\4" + x + y


def is_integer(value, wanted):
    return type(value) is int and value == wanted


def require_extensions(members):
    """The map of iOS 27: two members have a meaning, and then a type."""
    require(isinstance(members, dict), "extensions that are not a map")
    version = members.get("apple_bundle_version_01", "")
    require(isinstance(version, str), "a version that is not text")
    category = members.get("apple_validation_category_01", 0)
    if isinstance(category, bytes):
        require(len(category) == 4, "a category that is not of 32 bits")
    else:
        require(type(category) is int and 0 <= category < 1 << 32, "a category that is no number")


# Attestations: "Verify the attestation".


def attestation(data, expected):
    chain, authenticator_bytes = parse("decode", "malformed", attestation_parts, data)
    certificates = parse(
        "certificates", "malformed", lambda: [Certificate(der) for der in chain])
    authenticator = parse(
        "authenticator_data", "malformed", AuthenticatorData, authenticator_bytes, True)
    leaf = certificates[0]
    # 1. x5c leads to Apple's root.
    try:
        trusted_path(leaf, certificates[1:], expected.roots, expected.at)
    except Untrusted as untrusted:
        raise Refused("certificate_chain", f"certificate_{untrusted}") from None
    refuse_unless(not leaf.is_ca, "certificate_chain", "certificate_profile")
    refuse_unless(
        leaf.key and leaf.key.curve.name == "secp256r1", "certificate_chain",
        "certificate_profile")
    # 2 and 3. The nonce, in the only extension and form that it may have.
    nonce = sha256(authenticator_bytes, expected.client_data_hash)
    value = leaf.value(NONCE)
    refuse_unless(value is not None, "nonce", "nonce_missing")
    certified = parse("nonce", "nonce_malformed", nonce_in, value)
    refuse_unless(certified == nonce, "nonce", "nonce_mismatch")
    # 4. The key id.
    key_id = sha256(leaf.point)
    refuse_unless(expected.key_id in (None, key_id), "key_id", "key_id_mismatch")
    # 5. The app.
    refuse_unless(
        expected.app_id is None or authenticator.rp_id_hash == sha256(expected.app_id.encode()),
        "app", "app_mismatch")
    # 6. The counter.
    refuse_unless(authenticator.counter == 0, "counter", "counter_not_zero")
    # 7. The environment.
    environment = AAGUIDS.get(authenticator.aaguid)
    refuse_unless(environment, "environment", "environment_unknown")
    refuse_unless(
        expected.environment in (None, environment), "environment", "environment_not_allowed")
    # 8. The credential id.
    refuse_unless(
        authenticator.credential_id == key_id, "credential_id", "credential_id_mismatch")
    # 9. The key again.
    refuse_unless(authenticator.point == leaf.point, "public_key", "public_key_mismatch")
    leaf_profile(leaf, key_id, expected.app_id)


def attestation_parts(data):
    require(len(data) <= ATTESTATION_BYTES_MAX, "too long")
    members = cbor(data)
    require(isinstance(members, dict), "not a map")
    require(members.get("fmt") == "apple-appattest", "another format")
    statement, authenticator = members.get("attStmt"), members.get("authData")
    require(isinstance(statement, dict), "no statement")
    chain = statement.get("x5c")
    require(isinstance(chain, list) and 1 <= len(chain) <= 4, "too few or many certificates")
    require(all(isinstance(der, bytes) for der in chain), "certificates that are not bytes")
    require(isinstance(authenticator, bytes), "no authenticator data")
    return chain, authenticator


def nonce_in(value):
    """SEQUENCE { [1] { OCTET STRING of 32 bytes } }, and nothing beside it."""
    tagged = one(one(value, SEQUENCE).content, context(1))
    nonce = one(tagged.content, OCTETS).content
    require(len(nonce) == 32, "not 32 bytes")
    return nonce


def leaf_profile(leaf, key_id, app_id):
    """Not in Apple's list: what the leaf says of itself beside the nonce, where it says it."""
    def check(condition):
        refuse_unless(condition, "leaf_profile", "certificate_profile")

    if len(leaf.common_names) == 1 and leaf.common_names[0] is not None:
        check(leaf.common_names[0] == key_id.hex())
    certified = certified_app(leaf.value(APP_INFORMATION))
    check(None in (app_id, certified) or certified == app_id)
    usages = leaf.value(EXTENDED_KEY_USAGE)
    if usages is not None:
        check(APP_ATTEST_USAGE in [oid(usage) for usage in one(usages, SEQUENCE).children()])


def certified_app(value):
    """The App ID under tag 1204 of Apple's own extension, or None."""
    if value is None:
        return None
    try:
        rest = first_element(value)[0].of(SEQUENCE).content
        while rest:
            element, rest = first_element(rest)
            if element.tag == context(1204):
                return one(element.content, OCTETS).content.decode("utf-8")
    except (Malformed, UnicodeDecodeError):
        pass
    return None


# Assertions: "Verify the assertion". Steps 5 and 6 need a server's memory.


def assertion(data, expected):
    signature, authenticator_bytes = parse("decode", "malformed", assertion_parts, data)
    refuse_unless(
        expected.key_id in (None, sha256(expected.public_key)), "key_id", "key_id_mismatch")
    # 1 to 3. The nonce is the message that was signed, so it is hashed once more.
    nonce = sha256(authenticator_bytes, expected.client_data_hash)
    key = point(expected.public_key)
    refuse_unless(
        is_signed(key, signature, nonce, ECDSA_SHA256), "signature", "signature_invalid")
    authenticator = parse(
        "authenticator_data", "malformed", AuthenticatorData, authenticator_bytes, False)
    # 4. The app.
    refuse_unless(
        expected.app_id is None or authenticator.rp_id_hash == sha256(expected.app_id.encode()),
        "app", "app_mismatch")


def assertion_parts(data):
    require(len(data) <= ASSERTION_BYTES_MAX, "too long")
    members = cbor(data)
    require(isinstance(members, dict), "not a map")
    signature, authenticator = members.get("signature"), members.get("authenticatorData")
    require(isinstance(signature, bytes), "no signature")
    require(isinstance(authenticator, bytes), "no authenticator data")
    return signature, authenticator


# Receipts: "Assessing fraud risk", "Validate the receipt".


def receipt(data, expected):
    refuse_unless(len(data) <= RECEIPT_BYTES_MAX, "decode", "malformed")
    message = parse("decode", "cms_invalid", Message, data)
    # A receipt is kept for months: its signer has to be valid when it was made.
    values = parse("signature", "malformed", receipt_values, message.content)
    refuse_unless(12 in values, "signature", "malformed")
    created_at = parse("signature", "malformed", rfc3339, values[12])
    refuse_unless(
        parse("signature", "cms_invalid", message.is_signed), "signature", "cms_invalid")
    others = [item for item in message.certificates if item.der != message.signer.der]
    try:
        path = trusted_path(message.signer, others, expected.roots, created_at)
    except Untrusted:
        raise Refused("signature", "certificate_chain") from None
    refuse_unless(
        RECEIPT_SIGNER_MARK in message.signer.extensions
        or sha256(path[-1].der).hex() != APPLE_ROOT_G3, "signature", "certificate_chain")
    app_id, key, environment = parse("fields", "malformed", receipt_fields, values)
    refuse_unless(expected.app_id in (None, app_id), "app", "app_mismatch")
    refuse_unless(expected.public_key in (None, key), "key", "key_mismatch")
    refuse_unless(expected.key_id in (None, sha256(key)), "key_id", "key_mismatch")
    refuse_unless(
        expected.environment in (None, environment), "environment", "environment_mismatch")


def receipt_values(content):
    """SET OF SEQUENCE { type, version, value }, each type once."""
    values = {}
    for field in one(content, SET).children():
        parts = field.of(SEQUENCE).children()
        require(len(parts) == 3, "a field of another form")
        number, _ = unsigned(parts[0]), unsigned(parts[1])
        require(number not in values, "a field twice")
        values[number] = octets(parts[2])
    require(len(values) <= RECEIPT_FIELDS_MAX, "too many fields")
    return values


def receipt_fields(values):
    """App, key and environment, if these and all other known fields are as they must be."""
    require(2 in values and 3 in values, "no app or no key")
    try:
        app_id = values[2].decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("an app that is not text") from None
    require(values.get(6) in (b"ATTEST", b"RECEIPT"), "an unknown kind")
    environments = {None: None, b"production": "production", b"sandbox": "development"}
    require(values.get(7) in environments, "an unknown environment")
    metric = values.get(17, b"0")
    require(re.fullmatch(rb"[0-9]+", metric) and int(metric) < 1 << 32, "a metric of another form")
    for number in (19, 21):
        if number in values:
            rfc3339(values[number])
    key = values[3]
    # A point is only compared; the certificate is taken for its key alone.
    if len(key) != 65 or key[:1] != b"\4":
        leaf = Certificate(key)
        require(leaf.key and leaf.key.curve.name == "secp256r1", "a key on another curve")
        key = leaf.point
    return app_id, key, environments[values.get(7)]


def rfc3339(text):
    """Seconds since 1970 of an RFC 3339 time; of a fraction only the form counts."""
    form = (rb"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})"
            rb"(?:\.[0-9]{1,9})?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))")
    found = re.fullmatch(form, text)
    require(found, "a time of another form")
    local = moment(*found.groups()[:6])
    sign, hours, minutes = found.groups()[6:]
    if sign is None:
        return local
    require(hours < b"24" and minutes < b"60", "an offset of a day")
    offset = int(hours) * 3600 + int(minutes) * 60
    return local - offset if sign == b"+" else local + offset
