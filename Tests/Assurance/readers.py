"""Readers of CBOR (RFC 8949) and DER (X.690), for the second verifier alone.

Strict: each value has one encoding, and bytes that are left over are an error. `der` reads BER too,
where it is asked to: Apple's receipts have indefinite lengths.
"""

CBOR_DEPTH_MAX = 4
CBOR_ENTRIES_MAX = 32
DER_DEPTH_MAX = 32


class Malformed(Exception):
    """The bytes are not what they should be."""


def require(condition, message):
    if not condition:
        raise Malformed(message)


# CBOR: RFC 8949 section 4.2.1, without tags and floating point; keys in any order.


def cbor(data):
    """The one item that `data` is."""
    value, rest = cbor_item(data)
    require(not rest, "bytes behind the item")
    return value


def cbor_item(data, depth=0):
    """The first item of `data`, and what follows it. A map is a dict."""
    require(data, "the item is missing")
    kind, short, data = data[0] >> 5, data[0] & 31, data[1:]
    require(kind != 6, "a tag")
    if kind == 7:
        require(short in (20, 21, 22), "neither a boolean nor null")
        return {20: False, 21: True, 22: None}[short], data
    number, data = cbor_argument(short, data)
    if kind == 0:
        return number, data
    if kind == 1:
        return -1 - number, data
    if kind in (2, 3):
        require(number <= len(data), "a string that ends early")
        content, data = data[:number], data[number:]
        return (content if kind == 2 else utf8(content)), data
    require(depth < CBOR_DEPTH_MAX, "too deep")
    require(number <= len(data), "more elements than bytes")
    if kind == 4:
        elements = []
        for _ in range(number):
            element, data = cbor_item(data, depth + 1)
            elements.append(element)
        return elements, data
    require(number <= CBOR_ENTRIES_MAX, "too many entries")
    entries = {}
    for _ in range(number):
        require(data and data[0] >> 5 < 4, "a key that is no number and no string")
        key, data = cbor_item(data)
        require(key not in entries, "a key twice")
        entries[key], data = cbor_item(data, depth + 1)
    return entries, data


def cbor_argument(short, data):
    if short < 24:
        return short, data
    require(short < 28, "an indefinite length or a reserved one")
    size = 1 << (short - 24)
    require(len(data) >= size, "a head that ends early")
    number = int.from_bytes(data[:size], "big")
    least = 24 if size == 1 else 1 << (size * 4)
    require(number >= least, "a head that could be shorter")
    return number, data[size:]


def utf8(data):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("text that is not UTF-8") from None


# DER.

BOOLEAN, INTEGER, BITS, OCTETS, NULL, OID, ENUMERATED = 1, 2, 3, 4, 5, 6, 10
UTF8_STRING, SEQUENCE, SET, UTC_TIME, GENERALIZED_TIME = 12, 0x30, 0x31, 23, 24


def context(number):
    """The tag of a constructed element of the context class."""
    return 0xA0 | number if number < 31 else (0xA0, number)


class Element:
    """One tag with its content, and all bytes of it as they came."""

    def __init__(self, tag, content, raw, ber):
        self.tag, self.content, self.raw, self.ber = tag, content, raw, ber

    def children(self):
        return elements(self.content, self.ber)

    def of(self, tag):
        require(self.tag == tag, f"tag {self.tag}, not {tag}")
        return self


def elements(data, ber=False):
    """All elements that `data` is made of."""
    found = []
    while data:
        element, data = first_element(data, ber)
        found.append(element)
    return found


def one(data, tag, ber=False):
    """The only element of `data`, of this tag."""
    found = elements(data, ber)
    require(len(found) == 1, "not one element")
    return found[0].of(tag)


def first_element(data, ber=False, depth=0):
    require(depth < DER_DEPTH_MAX, "too deep")
    start = data
    tag, data = read_tag(data)
    require(data, "a length is missing")
    if ber and data[0] == 0x80:
        constructed = (tag if isinstance(tag, int) else tag[0]) & 0x20
        require(constructed, "an indefinite length of a primitive element")
        content_start = data = data[1:]
        while data[:2] != b"\0\0":
            _, data = first_element(data, ber, depth + 1)
        content = content_start[: len(content_start) - len(data)]
        data = data[2:]
        return Element(tag, content, start[: len(start) - len(data)], ber), data
    length, data = read_length(data, ber)
    require(length <= len(data), "an element that ends early")
    content, data = data[:length], data[length:]
    return Element(tag, content, start[: len(start) - len(data)], ber), data


def read_tag(data):
    require(data, "a tag is missing")
    first, data = data[0], data[1:]
    if first & 31 != 31:
        return first, data
    number, size = 0, 0
    while True:
        require(size < len(data) and size < 4, "a tag that does not end")
        number, size = number << 7 | data[size] & 127, size + 1
        require(number, "a tag that could be shorter")
        if not data[size - 1] & 128:
            break
    require(number >= 31, "a tag that could be shorter")
    return (first & 0xE0, number), data[size:]


def read_length(data, ber):
    first, data = data[0], data[1:]
    if first < 128:
        return first, data
    size = first & 127
    require(1 <= size <= (126 if ber else 4), "a length of no or too many bytes")
    require(size <= len(data), "a length that ends early")
    length = int.from_bytes(data[:size], "big")
    require(ber or length >= (128 if size == 1 else 1 << 8 * (size - 1)), "a longer length")
    return length, data[size:]


def der_length(size):
    """A length as DER writes it."""
    if size < 128:
        return bytes([size])
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([0x80 | len(digits)]) + digits


def require_der(data, depth=0):
    """Checks that `data` is DER all the way down, outside of strings."""
    require(depth < DER_DEPTH_MAX, "too deep")
    for element in elements(data):
        tag = element.tag if isinstance(element.tag, int) else element.tag[0]
        if tag & 0xC0 == 0:
            require(element.tag in (SEQUENCE, SET) or not tag & 0x20, "a string in pieces")
            require(element.tag not in (0x10, 0x11), "a sequence without elements")
            require_primitive(element)
        if tag & 0x20:
            require_der(element.content, depth + 1)


def require_primitive(element):
    content = element.content
    if element.tag == 0:
        raise Malformed("an end of contents")
    if element.tag == BOOLEAN:
        require(content in (b"\0", b"\xff"), "a boolean of another form")
    elif element.tag in (INTEGER, ENUMERATED):
        integer(element)
    elif element.tag == BITS:
        bits(element)
    elif element.tag == NULL:
        require(not content, "a null with content")
    elif element.tag == OID:
        oid(element)


def integer(element):
    content = element.content
    require(content, "an integer without bytes")
    value = int.from_bytes(content, "big", signed=True)
    shorter = content[1:]
    require(
        not shorter or int.from_bytes(shorter, "big", signed=True) != value,
        "an integer that could be shorter")
    return value


def unsigned(element, bytes_max=8):
    value = integer(element.of(INTEGER))
    require(value >= 0 and len(element.content) <= bytes_max, "not a small number")
    return value


def bits(element):
    """The bytes of a BIT STRING, and how many of the last one's bits are unused."""
    content = element.content
    require(content and content[0] < 8, "a bit string of another form")
    unused, content = content[0], content[1:]
    require(content or not unused, "unused bits of nothing")
    require(not content or content[-1] & ((1 << unused) - 1) == 0, "unused bits that are set")
    return content, unused


def whole_bytes(element):
    content, unused = bits(element.of(BITS))
    require(unused == 0, "a bit string that is not of whole bytes")
    return content


def oid(element):
    """Dotted decimal."""
    content = element.of(OID).content
    require(content and not content[-1] & 128, "an object identifier that ends early")
    arcs, arc, first = [], 0, True
    for byte in content:
        require(not (first and byte == 128), "an arc that could be shorter")
        arc, first = arc << 7 | byte & 127, not byte & 128
        if first:
            arcs.append(arc)
            arc = 0
    top = min(arcs[0] // 40, 2)
    return ".".join(str(arc) for arc in [top, arcs[0] - 40 * top] + arcs[1:])


def octets(element):
    """The content of an OCTET STRING, of which BER allows pieces.

    A piece should be an OCTET STRING itself. OpenSSL joins what it finds, so this does too: what is
    joined is signed, and nothing depends on how it was cut.
    """
    if element.ber and element.tag == OCTETS | 0x20:
        return b"".join(
            octets(piece) if piece.tag == element.tag else piece.content
            for piece in element.children())
    return element.of(OCTETS).content
