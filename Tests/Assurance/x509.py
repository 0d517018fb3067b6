"""Certificates (RFC 5280), paths of them, and signed messages (RFC 5652), for the second verifier.

`cryptography` does no more here than elliptic curves and hashes: what is signed, by whom, and what
a certificate says is read from the bytes.
"""

import hashlib
import re
from datetime import datetime, timezone

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from readers import (
    BITS, BOOLEAN, GENERALIZED_TIME, INTEGER, NULL, OCTETS, OID, SEQUENCE, SET, UTC_TIME,
    UTF8_STRING, Malformed, bits, context, der_length, elements, integer, octets, oid, one, require,
    require_der, unsigned, utf8, whole_bytes)

EC_PUBLIC_KEY = "1.2.840.10045.2.1"
CURVES = {"1.2.840.10045.3.1.7": ec.SECP256R1(), "1.3.132.0.34": ec.SECP384R1()}
ECDSA_SHA256 = "1.2.840.10045.4.3.2"
ECDSA = {
    ECDSA_SHA256: hashes.SHA256(), "1.2.840.10045.4.3.3": hashes.SHA384(),
    "1.2.840.10045.4.3.4": hashes.SHA512()}
# The digest of a message, and the signature algorithm that goes with it (RFC 5754).
DIGESTS = {
    "2.16.840.1.101.3.4.2.1": ("sha256", ECDSA_SHA256),
    "2.16.840.1.101.3.4.2.2": ("sha384", "1.2.840.10045.4.3.3"),
    "2.16.840.1.101.3.4.2.3": ("sha512", "1.2.840.10045.4.3.4")}
COMMON_NAME = "2.5.4.3"
SUBJECT_KEY_ID, KEY_USAGE, BASIC_CONSTRAINTS = "2.5.29.14", "2.5.29.15", "2.5.29.19"
AUTHORITY_KEY_ID, EXTENDED_KEY_USAGE = "2.5.29.35", "2.5.29.37"
DATA, SIGNED_DATA = "1.2.840.113549.1.7.1", "1.2.840.113549.1.7.2"
CONTENT_TYPE, MESSAGE_DIGEST = "1.2.840.113549.1.9.3", "1.2.840.113549.1.9.4"
# PrintableString and its like (X.520): what a name is made of.
TEXTS = (UTF8_STRING, 18, 19, 20, 22, 28, 30)
CERTIFICATE_BYTES_MAX = 16 * 1024
MESSAGE_CERTIFICATES_MAX = 5


def is_signed(key, signature, message, algorithm):
    """Whether `signature` is DER of two numbers in range, and the key's over `message`."""
    if not isinstance(key, ec.EllipticCurvePublicKey) or algorithm not in ECDSA:
        return False
    try:
        r, s = one(signature, SEQUENCE).children()
        r, s = (integer(number.of(INTEGER)) for number in (r, s))
    except (Malformed, ValueError):
        return False
    if r <= 0 or s <= 0:
        return False
    try:
        key.verify(utils.encode_dss_signature(r, s), message, ec.ECDSA(ECDSA[algorithm]))
    except InvalidSignature:
        return False
    return True


def point(data, curve=ec.SECP256R1()):
    """The key of an uncompressed point, or None."""
    if len(data) != 1 + 2 * ((curve.key_size + 7) // 8) or data[0] != 4:
        return None
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(curve, data)
    except ValueError:
        return None


def boolean(element):
    """Also a FALSE that DER would leave out, as many do not."""
    require(element.of(BOOLEAN).content in (b"\0", b"\xff"), "a boolean of another form")
    return element.content == b"\xff"


def algorithm_of(element):
    parts = element.of(SEQUENCE).children()
    require(1 <= len(parts) <= 2, "an algorithm of another form")
    empty = len(parts) == 1 or parts[1].tag != NULL or not parts[1].content
    require(empty, "a null of another form")
    return oid(parts[0])


class Certificate:
    """What a certificate says, which nobody has to believe yet."""

    def __init__(self, der):
        require(len(der) <= CERTIFICATE_BYTES_MAX, "too long")
        self.der = der
        parts = one(der, SEQUENCE).children()
        require(len(parts) == 3, "a certificate of another form")
        require_der(der)
        self.signed_bytes = parts[0].raw
        self.signature_algorithm = algorithm_of(parts[1])
        self.signature = whole_bytes(parts[2])
        fields = parts[0].of(SEQUENCE).children()
        self.version = 1
        if fields and fields[0].tag == context(0):
            self.version = unsigned(one(fields.pop(0).content, INTEGER)) + 1
            require(self.version > 1, "a default")
            # A later version than is known counts as the last known one, as it does in OpenSSL.
            self.version = min(self.version, 3)
        require(len(fields) >= 6, "a certificate of another form")
        self.serial = integer(fields[0].of(INTEGER))
        self.algorithms_agree = fields[1].raw == parts[1].raw
        self.issuer, self.subject = fields[2].raw, fields[4].raw
        read_name(fields[2])
        self.common_names = [value for kind, value in read_name(fields[4]) if kind == COMMON_NAME]
        dates = fields[3].of(SEQUENCE).children()
        require(len(dates) == 2, "not two dates")
        self.not_before, self.not_after = (seconds(date) for date in dates)
        self.curve, self.point = read_key(fields[5])
        self.key = point(self.point, self.curve) if self.curve else None
        self.extensions = {}
        self.read_rest(fields[6:])
        self.read_constraints()

    def read_rest(self, fields):
        for number in (1, 2):
            if fields and fields[0].tag == 0x80 | number:
                fields.pop(0)
        if not fields:
            return
        require(len(fields) == 1 and self.version == 3, "more than extensions")
        for extension in one(fields[0].of(context(3)).content, SEQUENCE).children():
            parts = extension.of(SEQUENCE).children()
            require(2 <= len(parts) <= 3, "an extension of another form")
            name = oid(parts[0])
            critical = len(parts) == 3 and boolean(parts[1])
            require(name not in self.extensions, "an extension twice")
            self.extensions[name] = critical, parts[-1].of(OCTETS).content

    def read_constraints(self):
        self.is_ca, self.path_length, self.may_sign_certificates = False, None, True
        if BASIC_CONSTRAINTS in self.extensions:
            parts = one(self.value(BASIC_CONSTRAINTS), SEQUENCE).children()
            if parts and parts[0].tag == BOOLEAN:
                self.is_ca = boolean(parts.pop(0))
            if parts:
                self.path_length = unsigned(parts.pop(0))
                require(self.is_ca, "a path length of no CA")
            require(not parts, "more constraints")
        if KEY_USAGE in self.extensions:
            usage, _ = bits(one(self.value(KEY_USAGE), BITS))
            self.may_sign_certificates = bool(usage and usage[0] & 0x04)
        self.key_id = self.issuer_key_id = None
        if SUBJECT_KEY_ID in self.extensions:
            self.key_id = one(self.value(SUBJECT_KEY_ID), OCTETS).content
        if AUTHORITY_KEY_ID in self.extensions:
            parts = one(self.value(AUTHORITY_KEY_ID), SEQUENCE).children()
            tags = [part.tag for part in parts]
            require(tags in ([], [0x80], [context(1), 0x82], [0x80, context(1), 0x82]), "an id")
            if 0x80 in tags:
                self.issuer_key_id = parts[0].content
        if EXTENDED_KEY_USAGE in self.extensions:
            for usage in one(self.value(EXTENDED_KEY_USAGE), SEQUENCE).children():
                oid(usage)

    def value(self, name):
        """What an extension holds, or None."""
        return self.extensions[name][1] if name in self.extensions else None

    def is_signed_by(self, issuer):
        if None not in (self.issuer_key_id, issuer.key_id) and self.issuer_key_id != issuer.key_id:
            return False
        return self.algorithms_agree and is_signed(
            issuer.key, self.signature, self.signed_bytes, self.signature_algorithm)


def read_name(element):
    """The attributes of a name: type and text."""
    found = []
    for relative in element.of(SEQUENCE).children():
        attributes = relative.of(SET).children()
        for attribute in attributes:
            parts = attribute.of(SEQUENCE).children()
            require(len(parts) == 2, "an attribute of another form")
            require(parts[1].tag in TEXTS, "an attribute that is not text")
            text = parts[1].content
            text = utf8(text) if parts[1].tag == UTF8_STRING else text.decode("latin-1")
            found.append((oid(parts[0]), text))
    return found


def read_key(element):
    """The key's curve, if it is one that is used here, and the bytes of its point."""
    parts = element.of(SEQUENCE).children()
    require(len(parts) == 2, "a key of another form")
    algorithm, data = parts[0].of(SEQUENCE).children(), whole_bytes(parts[1])
    require(1 <= len(algorithm) <= 2, "an algorithm of another form")
    if oid(algorithm[0]) != EC_PUBLIC_KEY or len(algorithm) != 2 or algorithm[1].tag != OID:
        return None, data
    return CURVES.get(oid(algorithm[1])), data


def seconds(element):
    """A date of a certificate, since 1970 (RFC 5280 section 4.1.2.5)."""
    require(element.tag in (UTC_TIME, GENERALIZED_TIME), "not a date")
    digits = 10 if element.tag == UTC_TIME else 12
    text = element.content.decode("ascii", "replace")
    require(re.fullmatch(rf"[0-9]{{{digits + 2}}}Z", text), "a date of another form")
    if element.tag == UTC_TIME:
        text = ("19" if text[:2] >= "50" else "20") + text
    return moment(text[:4], *(text[at:at + 2] for at in range(4, 14, 2)))


def moment(*numbers):
    """Seconds since 1970, of year, month, day, hour, minute and second."""
    try:
        date = datetime(*(int(number) for number in numbers), tzinfo=timezone.utc)
    except ValueError:
        raise Malformed("a moment that does not exist") from None
    return int(date.timestamp())


class Untrusted(Exception):
    """No path of the right kind: `expired`, `not_yet_valid` or `chain`."""


def trusted_path(leaf, others, roots, at):
    """The certificates from `leaf` to one of `roots` (RFC 5280 section 6), valid at `at`."""
    # Keys of other kinds cost a stranger little and a verifier much; nobody here has one.
    if any(certificate.curve is None for certificate in [leaf] + others):
        raise Untrusted("chain")
    reasons = []
    for path in paths([leaf], others, roots):
        reason = fault(path, at)
        if reason is None:
            return path
        reasons.append(reason)
    # A path that only its dates are against says more than one that never was any.
    dated = [reason for reason in reasons if reason != "chain"]
    raise Untrusted(dated[0] if dated else "chain")


def paths(path, others, roots):
    """Every way up by names and signatures."""
    last = path[-1]
    if any(last.der == root.der for root in roots):
        yield path
        return
    for issuer in roots + others:
        known = any(issuer.der == member.der for member in path)
        if not known and issuer.subject == last.issuer and last.is_signed_by(issuer):
            yield from paths(path + [issuer], others, roots)


def fault(path, at):
    for index, certificate in enumerate(path):
        known = (KEY_USAGE, BASIC_CONSTRAINTS, EXTENDED_KEY_USAGE, SUBJECT_KEY_ID)
        for name, (critical, _) in certificate.extensions.items():
            if critical and name not in known:
                return "chain"
        if certificate.key is None:
            return "chain"
        if index == 0:
            if certificate.signature_algorithm != ECDSA_SHA256 and len(path) > 1:
                return "chain"
            continue
        below = [issuer for issuer in path[1:index] if issuer.subject != issuer.issuer]
        if not certificate.is_ca or not certificate.may_sign_certificates:
            return "chain"
        if certificate.path_length is not None and len(below) > certificate.path_length:
            return "chain"
    # A root vouches for itself. One whose date was edited circulates, with the same key.
    if path[-1].subject == path[-1].issuer and not path[-1].is_signed_by(path[-1]):
        return "chain"
    for certificate in path:
        if at < certificate.not_before:
            return "not_yet_valid"
        if at > certificate.not_after:
            return "expired"
    return None


class Message:
    """A CMS message with its content and one signature, in BER (RFC 5652)."""

    def __init__(self, ber):
        outer = one(ber, SEQUENCE, ber=True).children()
        require(len(outer) == 2 and oid(outer[0]) == SIGNED_DATA, "not SignedData")
        parts = one(outer[1].of(context(0)).content, SEQUENCE, ber=True).children()
        require(len(parts) >= 4, "too few parts")
        unsigned(parts[0])
        self.digest_algorithms = [algorithm_of(item) for item in parts[1].of(SET).children()]
        content = parts[2].of(SEQUENCE).children()
        require(len(content) == 2 and oid(content[0]) == DATA, "no content of type data")
        wrapped = elements(content[1].of(context(0)).content, ber=True)
        require(len(wrapped) == 1, "not one content")
        self.content = octets(wrapped[0])
        self.read_certificates(parts[3:-1])
        signers = parts[-1].of(SET).children()
        require(len(signers) == 1, "not exactly one signer")
        self.read_signer(signers[0].of(SEQUENCE).children())

    def read_certificates(self, fields):
        require(fields and fields[0].tag == context(0), "no certificates")
        require(len(fields) == 1 or [f.tag for f in fields[1:]] == [context(1)], "more parts")
        found = fields[0].children()
        require(0 < len(found) <= MESSAGE_CERTIFICATES_MAX, "too few or many certificates")
        self.certificates = [Certificate(der_of(item)) for item in found]

    def read_signer(self, parts):
        require(len(parts) >= 5, "a signer of another form")
        unsigned(parts.pop(0))
        who = parts.pop(0)
        digest = algorithm_of(parts.pop(0))
        self.attributes = None
        if parts[0].tag == context(0):
            self.attributes = parts.pop(0)
        require(2 <= len(parts) <= 3, "a signer of another form")
        require(len(parts) == 2 or parts[2].tag == context(1), "a signer of another form")
        self.digest, self.signature_algorithm = digest, algorithm_of(parts[0])
        self.signature = octets(parts[1])
        for certificate in self.certificates:
            if is_named(certificate, who):
                self.signer = certificate
                return
        raise Malformed("the signer's certificate is missing")

    def is_signed(self):
        if self.digest not in DIGESTS or self.digest not in self.digest_algorithms:
            return False
        name, algorithm = DIGESTS[self.digest]
        if self.signature_algorithm != algorithm:
            return False
        signed = self.content
        if self.attributes is not None:
            signed = self.signed_attributes(hashlib.new(name, self.content).digest())
        return signed is not None and is_signed(
            self.signer.key, self.signature, signed, algorithm)

    def signed_attributes(self, digest):
        """What the signature is over (RFC 5652 section 5.4), if it vouches for the content."""
        values, encoded = {}, []
        for attribute in self.attributes.children():
            parts = attribute.of(SEQUENCE).children()
            if len(parts) != 2 or oid(parts[0]) in values:
                return None
            values[oid(parts[0])] = parts[1].of(SET).children()
            encoded.append(attribute.raw)
        kinds, digests = values.get(CONTENT_TYPE, []), values.get(MESSAGE_DIGEST, [])
        if [oid(kind) for kind in kinds] != [DATA] or [octets(d) for d in digests] != [digest]:
            return None
        body = b"".join(sorted(encoded))
        return bytes([SET]) + der_length(len(body)) + body


def der_of(certificate):
    """A certificate whose envelope is BER, as all of a message may be; what is signed stays."""
    parts = certificate.of(SEQUENCE).children()
    require(len(parts) == 3, "a certificate of another form")
    body = parts[0].raw + normal(parts[1]) + normal(parts[2])
    return bytes([SEQUENCE]) + der_length(len(body)) + body


def normal(element):
    """An element with the shortest lengths."""
    body = element.content
    tag = element.tag if isinstance(element.tag, int) else element.tag[0]
    if tag & 0x20:
        body = b"".join(normal(child) for child in element.children())
    size = 1
    if element.raw[0] & 31 == 31:
        size = next(n for n in range(1, len(element.raw)) if not element.raw[n] & 128) + 1
    return element.raw[:size] + der_length(len(body)) + body


def is_named(certificate, who):
    """Whether a signer names this certificate, by issuer and number or by its key's id."""
    if who.tag == SEQUENCE:
        parts = who.children()
        require(len(parts) == 2, "a signer of another form")
        return normal(parts[0]) == certificate.issuer and integer(
            parts[1].of(INTEGER)) == certificate.serial
    return who.tag == 0x80 and certificate.key_id == who.content
