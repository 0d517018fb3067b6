"""Mutations: what an attacker, a broken client or a broken network may make of an object.

`mutated` takes one object and one way to change it. Minted objects may be signed anew after the
change, with the keys of the device and of the stand-in for Apple: else nothing behind a signature
would ever be reached. Lengths around a change are made right again wherever the change is not one
of a length.
"""

import dataclasses
import hashlib

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

import readers
from readers import der_length
from x509 import ECDSA, Message


def mutated(originals, random, number):
    """An object that is like one of `originals` but for one change, or a few."""
    item = random.choice(originals)
    ways = [raw, cbor_lengths, members, expectation]
    if item.kind == "receipt":
        ways = [raw, structure, expectation]
    if item.keys and item.recorded == "ok":
        ways += [resigned] * len(ways)
    way = random.choice(ways)
    try:
        changed, what = way(item, originals, random)
    except readers.Malformed:
        # An object that cannot be taken apart can still be damaged.
        changed, what = raw(item, originals, random)
    origin = "re-signed" if way is resigned else f"mutated {item.origin}"
    return dataclasses.replace(
        changed, name=f"mutation {number} of {item.name}: {what}", origin=origin, recorded=None)


# Bytes, whatever they mean.


def raw(item, originals, random):
    data, what = damaged(item.data, random)
    return dataclasses.replace(item, data=data), what


def damaged(data, random):
    """The bytes after one change, and its name."""
    if not data:
        return b"\0", "a byte of nothing"
    at = random.randrange(len(data))
    what = random.choice(["bit", "bits", "cut", "doubled", "inserted", "removed", "byte", "moved"])
    if what in ("bit", "bits"):
        changed = bytearray(data)
        for _ in range(1 if what == "bit" else random.randint(2, 8)):
            changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
        return bytes(changed), what
    if what == "cut":
        return (data[:at] if random.random() < 0.5 else data[at:]), what
    if what == "doubled":
        end = random.choice([len(data), random.randint(at, len(data))])
        start = random.choice([0, at])
        return data[:end] + data[start:end] + data[end:], what
    if what == "inserted":
        return data[:at] + random.randbytes(random.randint(1, 3)) + data[at:], what
    if what == "removed":
        return data[:at] + data[at + random.randint(1, 3):], what
    if what == "byte":
        value = random.choice([0x00, 0x01, 0x7F, 0x80, 0xFF, random.randrange(256)])
        return data[:at] + bytes([value]) + data[at + 1:], what
    return data[at:] + data[:at], what


# CBOR.


def cbor_head(kind, number):
    if number < 24:
        return bytes([kind << 5 | number])
    size = next(size for size in (1, 2, 4, 8) if number < 1 << 8 * size)
    return bytes([kind << 5 | 24 + (1, 2, 4, 8).index(size)]) + number.to_bytes(size, "big")


def cbor(value):
    if value is None or isinstance(value, bool):
        return bytes([{False: 0xF4, True: 0xF5, None: 0xF6}[value]])
    if isinstance(value, int):
        return cbor_head(0, value) if value >= 0 else cbor_head(1, -1 - value)
    if isinstance(value, bytes):
        return cbor_head(2, len(value)) + value
    if isinstance(value, str):
        return cbor_head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return cbor_head(4, len(value)) + b"".join(cbor(element) for element in value)
    entries = value.items() if isinstance(value, dict) else value.entries
    return cbor_head(5, len(entries)) + b"".join(cbor(k) + cbor(v) for k, v in entries)


class Entries:
    """A map with a key twice, which a dict cannot be."""

    def __init__(self, entries):
        self.entries = entries


def cbor_heads(data):
    """Where each head of an item is, with its size."""
    places, at, waiting = [], 0, 1
    while waiting and at < len(data):
        kind, short = data[at] >> 5, data[at] & 31
        size = 1 + (1 << short - 24 if 24 <= short < 28 else 0)
        number = short if short < 24 else int.from_bytes(data[at + 1:at + size], "big")
        places.append((at, size, kind, number))
        waiting -= 1
        waiting += {4: number, 5: 2 * number}.get(kind, 0)
        at += size + (number if kind in (2, 3) else 0)
    return places


def cbor_lengths(item, originals, random):
    data, what = cbor_length(item.data, random)
    return dataclasses.replace(item, data=data), what


def cbor_length(data, random):
    """One head changed: its kind, its number, or how that is spelled."""
    if not data:
        return damaged(data, random)
    at, size, kind, number = random.choice(cbor_heads(data))
    what = random.choice(["longer", "shorter", "spelled longer", "indefinite", "kind", "tagged"])
    if what == "longer":
        head = cbor_head(kind, number + 1)
    elif what == "shorter":
        head = cbor_head(kind, max(0, number - 1))
    elif what == "spelled longer":
        wide = random.choice([1, 2, 4, 8])
        head = bytes([kind << 5 | 24 + (1, 2, 4, 8).index(wide)])
        head += (number % (1 << 8 * wide)).to_bytes(wide, "big")
    elif what == "indefinite":
        head = bytes([kind << 5 | 31])
    elif what == "kind":
        head = bytes([data[at] & 31 | random.randrange(8) << 5]) + data[at + 1:at + size]
    else:
        head = bytes([0xC0 | random.randrange(24)]) + data[at:at + size]
    return data[:at] + head + data[at + size:], f"CBOR {what}"


def opened(item):
    members = readers.cbor(item.data)
    readers.require(isinstance(members, dict), "not a map")
    return members


def members(item, originals, random):
    """One member changed, with right lengths around it."""
    top = opened(item)
    ways = [member_bytes, member_other, member_added, member_order]
    if item.kind == "attestation":
        ways += [chain] * 4
    what = random.choice(ways)(top, item, originals, random)
    if isinstance(what, tuple):
        top, what = what
    return dataclasses.replace(item, data=cbor(top)), what


def strings_of(top):
    """Every byte string: the map or list that holds it, and its place there."""
    found, waiting = [], [top]
    while waiting:
        holder = waiting.pop()
        places = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, value in places:
            if isinstance(value, bytes):
                found.append((holder, key))
            elif isinstance(value, (dict, list)):
                waiting.append(value)
    readers.require(found, "no strings")
    return found


def member_bytes(top, item, originals, random):
    holder, key = random.choice(strings_of(top))
    holder[key], what = (changed_der if is_der(holder[key]) and random.random() < 0.7 else damaged)(
        holder[key], random)
    return f"{key}: {what}"


def member_other(top, item, originals, random):
    """A member from another object of the kind, or a value of another type."""
    key = random.choice(list(top))
    if random.random() < 0.3:
        top[key] = random.choice([None, True, 0, -1, b"", "", [], {}, {"x5c": []}])
        return f"{key}: another type"
    other = opened(random.choice([other for other in originals if other.kind == item.kind]))
    if key in other:
        top[key] = other[key]
    return f"{key}: from another object"


def member_added(top, item, originals, random):
    value = random.choice([b"", b"\1" * 40, "x", 1, [1, [2, [3]]], {1: {2: {3: {4: 5}}}}, None])
    top[random.choice(["cdHash", "", 7, b"key", "fmt ", -3])] = value
    return "an unknown member"


def member_order(top, item, originals, random):
    entries = list(top.items())
    random.shuffle(entries)
    if random.random() < 0.5:
        entries.append(random.choice(entries))
        return Entries(entries), "a key twice"
    return Entries(entries), "another order"


def chain(top, item, originals, random):
    """Certificates swapped, dropped, doubled or brought from elsewhere."""
    statement = top.get("attStmt")
    readers.require(isinstance(statement, dict), "no statement")
    found = statement.get("x5c")
    readers.require(isinstance(found, list) and found, "no certificates")
    other = opened(random.choice([other for other in originals if other.kind == "attestation"]))
    other = (other.get("attStmt") or {}).get("x5c") or found
    what = random.choice(["reversed", "leaf", "issuer", "dropped", "doubled", "added", "all"])
    if what == "reversed":
        found.reverse()
    elif what == "leaf":
        found[0] = other[0]
    elif what == "issuer":
        found[-1] = other[-1]
    elif what == "dropped":
        found.pop(random.randrange(len(found)))
    elif what == "doubled":
        found.insert(random.randint(0, len(found)), random.choice(found))
    elif what == "added":
        found.insert(random.randint(0, len(found)), random.choice(other))
    else:
        statement["x5c"] = other
    return f"certificates {what}"


# DER, as a tree whose lengths are made right again.


class Node:
    def __init__(self, tag, content, children, length=None):
        self.tag, self.content, self.children, self.length = tag, content, children, length

    def encoded(self):
        body = self.content
        if self.children is not None:
            body = b"".join(child.encoded() for child in self.children)
        return self.tag + (der_length(len(body)) if self.length is None else self.length) + body

    def all(self):
        yield self
        for child in self.children or []:
            yield from child.all()

    def at(self, *places):
        node = self
        for place in places:
            node = node.children[place]
        return node


def tree(data, ber=False):
    """The first element of `data`, which may be BER; written again it is DER."""
    element, _ = readers.first_element(data, ber)
    return node_of(element, ber)


def node_of(element, ber):
    first = element.raw[0]
    size = 1
    if first & 31 == 31:
        while element.raw[size] & 128:
            size += 1
        size += 1
    children = None
    if first & 0x20:
        children = [node_of(child, ber) for child in readers.elements(element.content, ber)]
    return Node(element.raw[:size], element.content, children)


def is_der(data):
    try:
        return bool(data) and bool(readers.elements(data, ber=True)[0].children())
    except readers.Malformed:
        return False


def changed_der(data, random):
    node = tree(data, ber=True)
    what = change(node, random)
    return node.encoded(), what


def change(root, random):
    """One node of the tree changed; its name."""
    node = random.choice(list(root.all()))
    ways = ["tag", "length spelled longer", "length wrong", "indefinite"]
    if node.children is None:
        ways += ["content"] * 5 + ["empty", "known value"]
    elif node.children:
        ways += ["dropped", "doubled", "order", "added"] * 2
    what = random.choice(ways)
    if what == "tag":
        node.tag = bytes([random.choice(
            [1, 2, 3, 4, 5, 6, 12, 19, 23, 24, 0x24, 0x30, 0x31, 0x80, 0xA0, 0xA1, 0xA3, 0xBF,
             node.tag[0] ^ 0x20])])
    elif what == "content":
        node.content, how = damaged(node.content, random)
        return f"DER content: {how}"
    elif what == "empty":
        node.content = b""
    elif what == "known value":
        node.content = random.choice(
            [b"\0", b"\1", b"\xff", b"\2", b"\x80", b"\0\1", b"\xff\xff", b"\x2a\x86\x48",
             b"491231235959Z", b"20500101000000Z", b"99991231235959Z", b"261123153854+0000"])
    elif what == "dropped":
        node.children.pop(random.randrange(len(node.children)))
    elif what == "doubled":
        node.children.insert(random.randint(0, len(node.children)), random.choice(node.children))
    elif what == "order":
        random.shuffle(node.children)
    elif what == "added":
        other = random.choice(list(root.all()))
        if node not in other.all():
            node.children.append(other)
    else:
        body = node.encoded()[len(node.tag):]
        right = der_length(len(node.content) if node.children is None else sum(
            len(child.encoded()) for child in node.children))
        if what == "indefinite":
            node.length = b"\x80"
        elif what == "length wrong":
            number = max(0, len(body) - len(right) + random.choice([-1, 1, 2]))
            node.length = der_length(number)
        else:
            number = len(body) - len(right)
            size = random.randint(1, 5)
            node.length = bytes([0x80 | size]) + (number % (1 << 8 * size)).to_bytes(size, "big")
    return f"DER {what}"


def structure(item, originals, random):
    data, what = changed_der(item.data, random)
    return dataclasses.replace(item, data=data), what


# What is known beside the object.


def expectation(item, originals, random):
    """A challenge, key, app, environment, moment or root of somebody else."""
    other = random.choice(originals)
    changes = {
        "key_id": random.choice([hashlib.sha256(b"another").digest(), None]),
        "app_id": random.choice([other.app_id, item.app_id + "x", item.app_id.lower(), None]),
        "root": other.root,
        "environment": random.choice(["production", "development", None]),
        "at": item.at + random.choice([-1, 1]) * random.choice(
            [1, 86_400, 86_400 * 4, 86_400 * 400, 86_400 * 4000])}
    if item.client_data_hash is not None:
        changes["client_data_hash"] = random.choice(
            [hashlib.sha256(item.client_data_hash).digest(), item.client_data_hash[:21],
             item.client_data_hash + b"\0"])
    if item.public_key is not None:
        keys = [one.public_key for one in originals if one.public_key is not None]
        changes["public_key"] = random.choice(keys)
    what = random.choice(list(changes))
    return dataclasses.replace(item, **{what: changes[what]}), f"another {what}"


# Signed anew.


def sign(key, message, digest=hashes.SHA256()):
    return key.sign(message, ec.ECDSA(digest))


def resigned(item, originals, random):
    return {"attestation": attestation, "assertion": assertion, "receipt": receipt}[item.kind](
        item, random)


EXTENSION_VALUES = [
    0, 1 << 32, (1 << 32) - 1, -1, 1 << 63, b"\1\0\0\0", b"\1", "1", True, [[[1]]], [[[[1]]]], None,
    {"a": {"b": 1}}, "é"]


def authenticator_data(data, random, has_credential):
    """Changed in its fixed parts, its key or its extensions."""
    fixed = 37
    if has_credential:
        fixed = 55 + int.from_bytes(data[53:55], "big")
    head, tail = data[:fixed], data[fixed:]
    what = random.choice(["fixed", "fixed", "tail", "tail", "added", "added", "key"])
    if what == "fixed":
        head, how = damaged(head, random)
    elif what == "tail" and tail:
        tail, how = random.choice([damaged, cbor_length])(tail, random)
    elif what == "key" and has_credential:
        key, tail = readers.cbor_item(tail)
        how = key_label(key, random)
        tail = cbor(key) + tail
    else:
        if has_credential:
            _, rest = readers.cbor_item(tail)
            tail = tail[:len(tail) - len(rest)]
        else:
            tail = b""
        names = ["apple_validation_category_01", "apple_bundle_version_01", "x", 1, b"k"]
        extensions = {
            random.choice(names): random.choice(EXTENSION_VALUES)
            for _ in range(random.randint(0, 3))}
        if random.random() < 0.1:
            extensions.update({f"k{number}": number for number in range(random.randint(28, 34))})
        tail += random.choice([cbor(extensions)] * 8 + [cbor(extensions) * 2, b"\xa0\0", b"\x80"])
        how = "extensions"
    return head + tail, f"authenticator data, {what}: {how}"


def key_label(key, random):
    label = random.choice([1, 3, -1, -2, -3, 2, "x"])
    key[label] = random.choice(
        [0, 1, 2, -7, True, None, b"", b"\0" * 32, b"\xff" * 32, b"\1" * 31, b"\1" * 33, "text",
         -(1 << 64), (1 << 64) - 1, [1]])
    if random.random() < 0.3:
        del key[label]
    return f"label {label}"


def assertion(item, random):
    top = opened(item)
    data, what = top["authenticatorData"], "right again"
    if random.random() < 0.8:
        data, what = authenticator_data(data, random, False)
        top["authenticatorData"] = data
    nonce = hashlib.sha256(data + item.client_data_hash).digest()
    top["signature"] = sign(item.keys["device_key"], nonce)
    if random.random() < 0.3:
        top["signature"], how = changed_der(top["signature"], random)
        what += f", signature: {how}"
    return dataclasses.replace(item, data=cbor(top)), what


def attestation(item, random):
    """The leaf, its issuer or the authenticator data changed, and certified by those who may."""
    top = opened(item)
    found = top["attStmt"]["x5c"]
    leaf, issuer = tree(found[0]), tree(found[1])
    what = random.choice(["leaf", "leaf", "leaf", "issuer", "data", "data"])
    if what == "data":
        old = hashlib.sha256(top["authData"] + item.client_data_hash).digest()
        top["authData"], how = authenticator_data(top["authData"], random, True)
        new = hashlib.sha256(top["authData"] + item.client_data_hash).digest()
        for node in leaf.all():
            if node.children is None and old in node.content:
                node.content = node.content.replace(old, new)
    else:
        how = certificate_change(leaf if what == "leaf" else issuer, random)
    top["attStmt"]["x5c"] = [
        certified(leaf, item.keys["intermediate_key"]), certified(issuer, item.keys["root_key"])]
    return dataclasses.replace(item, data=cbor(top)), f"{what}: {how}"


def certificate_change(certificate, random):
    """A change of what is signed: anywhere, or in what an extension holds."""
    signed = certificate.at(0)
    holders = [
        node for node in signed.all()
        if node.tag == b"\4" and node.children is None and is_der(node.content)]
    if holders and random.random() < 0.6:
        node = random.choice(holders)
        node.content, how = random.choice([changed_der, changed_der, damaged])(
            node.content, random)
        return f"in an extension: {how}"
    return change(signed, random)


def certified(certificate, key):
    algorithm = readers.oid(readers.elements(certificate.at(1, 0).encoded())[0])
    signature = sign(key, certificate.at(0).encoded(), ECDSA[algorithm])
    certificate.at(2).content = b"\0" + signature
    return certificate.encoded()


def receipt(item, random):
    """The content, the signer's attributes or its certificate changed, and signed anew."""
    message = Message(item.data)
    root = tree(item.data, ber=True)
    parts = root.at(1, 0)
    what = random.choice(["content", "content", "content", "attributes", "certificate", "around"])
    content = message.content
    if what == "content":
        content, how = random.choice([changed_fields, changed_fields, changed_der, damaged])(
            content, random)
        parts.at(2, 1).children = [Node(b"\4", content, None)]
    signer = parts.children[-1].at(0)
    attributes = next((node for node in signer.children if node.tag == b"\xa0"), None)
    old, new = (hashlib.sha256(bytes_).digest() for bytes_ in (message.content, content))
    for node in attributes.all() if attributes else ():
        if node.children is None and node.content == old:
            node.content = new
    if what == "attributes" and attributes:
        how = change(attributes, random)
    if what == "certificate":
        certificates = parts.children[3]
        place = random.randrange(len(certificates.children))
        key = item.keys[
            ["receipt_signer_key", "receipt_intermediate_key", "receipt_root_key"][min(place, 2)]]
        how = certificate_change(certificates.at(place), random)
        if place < 2:
            key = item.keys[["receipt_intermediate_key", "receipt_root_key"][place]]
        certificates.children[place] = Node(
            *split(certified(certificates.at(place), key)))
    signed = content
    if attributes:
        signed = b"".join(sorted(node.encoded() for node in attributes.children))
        signed = b"\x31" + der_length(len(signed)) + signed
    place = max(n for n, node in enumerate(signer.children) if node.tag == b"\4")
    signer.children[place].content = sign(item.keys["receipt_signer_key"], signed)
    if what == "around" or what == "attributes" and not attributes:
        how = change(parts, random)
    return dataclasses.replace(item, data=root.encoded()), f"{what}: {how}"


def split(encoded):
    """The tag and the content of an element whose insides are not to be read again."""
    element, _ = readers.first_element(encoded, ber=True)
    return encoded[:1], element.content, None


def changed_fields(content, random):
    """One field of a receipt with another type, version or value."""
    root = tree(content)
    field = random.choice(root.children)
    types = [2, 3, 4, 5, 6, 7, 8, 12, 17, 19, 20, 21, 127, 128, 255, 256, 1 << 63]
    what = random.choice(["type", "version", "value", "value", "value", "other field"])
    if what == "type":
        number = random.choice(types)
        field.at(0).content = number.to_bytes(number.bit_length() // 8 + 1, "big")
    elif what == "version":
        field.at(1).content = random.choice([b"\0", b"\2", b"\xff", b"\1\0\0\0\0\0\0\0\0", b"\0\1"])
    elif what == "value":
        field.at(2).content = random.choice(values(field.at(2).content, random))
    else:
        number = random.choice(types[:-1])
        value = random.choice(values(b"17", random))
        root.children.append(Node(b"\x30", None, [
            Node(b"\2", number.to_bytes(number.bit_length() // 8 + 1, "big"), None),
            Node(b"\2", b"\1", None), Node(b"\4", value, None)]))
    return root.encoded(), f"field's {what}"


def values(value, random):
    times = [
        b"2026-11-23T15:38:54Z", b"2026-11-23t15:38:54.1z", b"2026-11-23T15:38:54.1234567890Z",
        b"2026-02-29T00:00:00Z", b"2024-02-29T00:00:00+23:59", b"2026-11-23T24:00:00Z",
        b"2026-11-23T15:38:60Z", b"2026-11-23T15:38:54.Z", b"2026-11-23 15:38:54Z",
        b"2026-11-23T15:38:54-00:60", b"0001-01-01T00:00:00Z", b"9999-12-31T23:59:59Z",
        b"2026-11-23T15:38:54", b"2026-11-23T15:38:54Z ", b"2026-1-23T15:38:54Z"]
    numbers = [b"", b"0", b"00", b"007", b"4294967295", b"4294967296", b"-1", b"+1", b" 1", b"1 ",
               b"1.0", b"0" * 25 + b"1", "١".encode()]
    words = [b"ATTEST", b"RECEIPT", b"attest", b"production", b"sandbox", b"PRODUCTION", b"\xff"]
    return times + numbers + words + [damaged(value, random)[0]] * 12
