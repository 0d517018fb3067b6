import Bytes

/// Finds the nodes that a `Forwarded` field names (RFC 7239 section 4).
public enum ForwardedNodes {
    /// The `for` of each element, without its quotes and escapes; nil for an element without one.
    /// Nil as a whole if the value is no list of elements, or if an element has a parameter twice
    /// or more parameters than are defined.
    ///
    /// White space around `;` is accepted. The grammar does not allow it but some proxies send it,
    /// and it changes nothing.
    public static func parse(_ value: [UInt8]) -> [[UInt8]?]? {
        var reader = Reader(value: value)
        var nodes: [[UInt8]?] = []
        repeat {
            // RFC 9110 section 5.6.1: empty elements of a list count for nothing.
            reader.skipSpace()
            if reader.isAtEnd || reader.next == ASCIIByte.comma { continue }
            guard reader.readElement(into: &nodes) else { return nil }
        } while reader.skip(ASCIIByte.comma)
        return reader.isAtEnd && !nodes.isEmpty ? nodes : nil
    }

    /// The elements of `value` as RFC 7239 section 4 has them, without the empty ones and without
    /// the white space that ``parse(_:)`` lets through. Nil if `value` is no list of elements.
    public static func canonical(_ value: [UInt8]) -> [UInt8]? {
        guard parse(value) != nil else { return nil }
        var text: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        var isListed = false
        for byte in value {
            guard isQuoted || (byte != ASCIIByte.space && byte != ASCIIByte.tab) else { continue }
            guard isQuoted || byte != ASCIIByte.comma else {
                isListed = !text.isEmpty
                continue
            }
            if isListed { text += [ASCIIByte.comma, ASCIIByte.space] }
            isListed = false
            text.append(byte)
            if isEscaped {
                isEscaped = false
            } else if byte == ASCIIByte.quote {
                isQuoted.toggle()
            } else {
                isEscaped = isQuoted && byte == ASCIIByte.backslash
            }
        }
        return text
    }

    private struct Reader {
        let value: [UInt8]
        private var position = 0

        init(value: [UInt8]) { self.value = value }

        var isAtEnd: Bool { position == value.count }
        var next: UInt8? { isAtEnd ? nil : value[position] }

        mutating func skipSpace() {
            while next == ASCIIByte.space || next == ASCIIByte.tab { position += 1 }
        }

        mutating func skip(_ byte: UInt8) -> Bool {
            guard next == byte else { return false }
            position += 1
            return true
        }

        /// Reads `token=value` pairs between semicolons, up to a comma or the end.
        mutating func readElement(into nodes: inout [[UInt8]?]) -> Bool {
            var names: [[UInt8]] = []
            var node: [UInt8]?
            repeat {
                skipSpace()
                if isAtEnd || next == ASCIIByte.comma || next == ASCIIByte.semicolon { continue }
                guard let token = token(), skip(ASCIIByte.equals),
                    let word = skip(ASCIIByte.quote) ? quoted() : self.token()
                else { return false }
                let name = ASCII.lowercased(token.span)
                guard names.count < ForwardedNodes.parameterCountMax, !names.contains(name) else {
                    return false
                }
                names.append(name)
                if name == ForwardedNodes.forName { node = word }
                skipSpace()
            } while skip(ASCIIByte.semicolon)
            nodes.append(node)
            return true
        }

        private mutating func token() -> [UInt8]? {
            let start = position
            while let byte = next, ByteSet.token.contains(byte) { position += 1 }
            return position > start ? Array(value[start..<position]) : nil
        }

        /// Reads the rest of a quoted string (RFC 9110 section 5.6.4).
        private mutating func quoted() -> [UInt8]? {
            var text: [UInt8] = []
            while let byte = next, Self.isText(byte) {
                position += 1
                switch byte {
                case ASCIIByte.quote: return text
                case ASCIIByte.backslash:
                    guard let escaped = next, Self.isText(escaped) else { return nil }
                    position += 1
                    text.append(escaped)
                default: text.append(byte)
                }
            }
            return nil
        }

        private static func isText(_ byte: UInt8) -> Bool {
            byte >= ASCIIByte.space && byte != 0x7F || byte == ASCIIByte.tab
        }
    }

    /// The most parameters of an element. RFC 7239 defines four. Each is compared with all before
    /// it.
    private static let parameterCountMax = 16
    private static let forName = Array("for".utf8)
}
