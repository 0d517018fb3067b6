import Bytes

/// Makes the head of an HTTP/1.1 request out of an HTTP/2 header block (RFC 9113 section 8.3.1), so
/// that one strict parser judges both.
///
/// Bytes that could end a line or a word of that head early, or that only mean something to
/// HTTP/1.1, make the request malformed here (RFC 9113 section 8.1.1): they never reach the parser.
public struct RequestHeadText: ~Copyable {
    /// The words of the request line and the host.
    private struct Places {
        var method, scheme, authority, path, host: Range<Int>?
    }

    private var pseudo = ByteBuffer()
    private var places = Places()
    private(set) var lines: FieldText
    private var cookie = ByteBuffer()
    private var hasContentLength = false
    private var hasRegular = false
    /// True if the head is beyond the limit. Later fields are not in the text then.
    public var isTooLarge: Bool { lines.isTooLarge }

    public init(limits: FieldSectionLimits) { lines = FieldText(limits: limits) }

    /// The storage that is kept for the next head.
    private static let keptByteCountMax = 8 * 1024

    /// Prepares for the next header block.
    public mutating func reset() {
        pseudo.clear(keepingAtMost: Self.keptByteCountMax)
        lines.reset()
        cookie.clear(keepingAtMost: Self.keptByteCountMax)
        places = Places()
        hasContentLength = false
        hasRegular = false
    }

    /// True if the block has grown far beyond the size that is answered.
    public var isBomb: Bool { lines.isBomb }

    /// Takes the next field.
    ///
    /// - Returns: true if the request is still well-formed.
    public mutating func take(name: Span<UInt8>, value: Span<UInt8>) -> Bool {
        lines.count(name, value)
        guard !name.isEmpty else { return false }
        if name[0] == UInt8(ascii: ":") { return takePseudo(name, value) }
        hasRegular = true
        guard FieldSyntax.isRegular(name, value) else { return false }
        return isTooLarge || takeRegular(name, value)
    }

    private mutating func takePseudo(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Bool {
        guard !hasRegular, FieldSyntax.isWord(value) else { return false }
        return switch name.count {
        case 5 where name.equals(":path"): keep(value, \.path)
        case 7 where name.equals(":method"): keep(value, \.method)
        case 7 where name.equals(":scheme"): keep(value, \.scheme)
        case 10 where name.equals(":authority"): keep(value, \.authority)
        default: false
        }
    }

    /// Keeps a word that comes once.
    @inline(__always)
    private mutating func keep(
        _ word: Span<UInt8>, _ place: WritableKeyPath<Places, Range<Int>?>
    ) -> Bool {
        guard places[keyPath: place] == nil else { return false }
        if isTooLarge { return true }
        places[keyPath: place] = pseudo.count..<pseudo.count + word.count
        pseudo.append(word)
        return true
    }

    private mutating func takeRegular(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Bool {
        if name.equals("te"), !value.equals("trailers") { return false }
        if name.equals("host") {
            return FieldSyntax.isWord(value) && keep(value, \.host)
        }
        // RFC 9113 section 8.2.3: the pieces are one field again for HTTP/1.1.
        if name.equals("cookie") {
            if !cookie.isEmpty { cookie.append("; ") }
            cookie.append(value)
            return true
        }
        if name.equals("content-length") {
            guard !hasContentLength else { return false }
            hasContentLength = true
        }
        lines.append(name, value)
        return true
    }

    /// Appends the text of the head to `text`; of one that is too large, nothing. False for a
    /// malformed request.
    ///
    /// - Parameter hasBody: true if DATA follows. Without a `content-length`, the head then says
    ///   `Transfer-Encoding: chunked`, which stands for a length that is not known yet.
    public mutating func finish(hasBody: Bool, into text: inout [UInt8]) -> Bool {
        guard let method = places.method, !method.isEmpty else { return isTooLarge }
        // CONNECT is refused by its name (RFC 9110 section 9.3.6), so its authority is not used as
        // a target.
        if pseudo.readable.extracting(method).equals("CONNECT") {
            text += "CONNECT * HTTP/1.1\r\n\r\n".utf8
            return true
        }
        guard let path = places.path, isPath(path), let scheme = places.scheme, isScheme(scheme)
        else { return isTooLarge }
        let host = places.authority ?? places.host
        if let authority = host, let named = places.host {
            // RFC 9113 section 8.3.1.
            guard
                ASCII.equalsIgnoringCase(
                    pseudo.readable.extracting(authority), pseudo.readable.extracting(named))
            else { return false }
        }
        let isChunked = hasBody && !hasContentLength
        let byteCount = pseudo.count + lines.bytes.count + cookie.count + Self.frameByteCount
        text.append(addingCapacity: byteCount) { head in
            head.append(contentsOf: pseudo.readable.extracting(method))
            head.append(UInt8(ascii: " "))
            head.append(contentsOf: pseudo.readable.extracting(path))
            head.append(" HTTP/1.1\r\n")
            // Without a host, the parser refuses the request.
            if let host {
                head.append("host: ")
                head.append(contentsOf: pseudo.readable.extracting(host))
                head.append("\r\n")
            }
            head.append(contentsOf: lines.bytes)
            if !cookie.isEmpty {
                head.append("cookie: ")
                head.append(contentsOf: cookie.readable)
                head.append("\r\n")
            }
            if isChunked { head.append("transfer-encoding: chunked\r\n") }
            head.append("\r\n")
        }
        if host != nil { lines.countLine() }
        if !cookie.isEmpty { lines.countLine() }
        if isChunked { lines.countLine() }
        return true
    }

    /// More bytes than all words that ``finish(hasBody:into:)`` adds.
    private static let frameByteCount = 64

    /// True if `:path` holds a path or `*`, and not an absolute form (RFC 9113 section 8.3.1).
    private func isPath(_ place: Range<Int>) -> Bool {
        let path = pseudo.readable.extracting(place)
        guard !path.isEmpty else { return false }
        return path[0] == UInt8(ascii: "/") || path.equals("*")
    }

    private func isScheme(_ place: Range<Int>) -> Bool {
        let scheme = pseudo.readable.extracting(place)
        return scheme.equals("https") || scheme.equals("http")
    }
}

extension Span where Element == UInt8 {
    func equals(_ text: StaticString) -> Bool {
        guard text.utf8CodeUnitCount == count else { return false }
        return text.withUTF8Buffer { other in
            for index in indices {
                guard unsafe other[index] == self[index] else { return false }
            }
            return true
        }
    }
}
