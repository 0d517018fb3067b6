import Bytes

/// Makes the head of an HTTP/1.1 request out of an HTTP/2 header block (RFC 9113 section 8.3.1), so
/// that one strict parser judges both.
///
/// Bytes that could end a line or a word of that head early, or that only mean something to
/// HTTP/1.1, make the request malformed here (RFC 9113 section 8.1.1): they never reach the parser.
public struct RequestHeadText: ~Copyable {
    private enum Pseudo: Int, CaseIterable {
        case method, scheme, authority, path
    }

    private var pseudo = ByteBuffer()
    private var places = [Range<Int>?](repeating: nil, count: Pseudo.allCases.count)
    private(set) var lines: FieldText
    private var cookie = ByteBuffer()
    private var host: Range<Int>?
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
        for index in places.indices { places[index] = nil }
        host = nil
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
        let kind: Pseudo
        switch true {
        case name.equals(":method"): kind = .method
        case name.equals(":scheme"): kind = .scheme
        case name.equals(":authority"): kind = .authority
        case name.equals(":path"): kind = .path
        default: return false
        }
        guard !hasRegular, places[kind.rawValue] == nil, Self.isWord(value) else { return false }
        if isTooLarge { return true }
        places[kind.rawValue] = pseudo.count..<pseudo.count + value.count
        pseudo.append(value)
        return true
    }

    private mutating func takeRegular(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Bool {
        if name.equals("te"), !value.equals("trailers") { return false }
        if name.equals("host") {
            guard host == nil, Self.isWord(value) else { return false }
            host = pseudo.count..<pseudo.count + value.count
            pseudo.append(value)
            return true
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

    /// Returns the text of the head; nil for a malformed request.
    ///
    /// - Parameter hasBody: true if DATA follows. Without a `content-length`, the head then says
    ///   `Transfer-Encoding: chunked`, which stands for a length that is not known yet.
    public mutating func finish(hasBody: Bool) -> [UInt8]? {
        let isConnect = place(.method).map { pseudo.readable.extracting($0).equals("CONNECT") }
        guard let method = place(.method), !method.isEmpty else { return isTooLarge ? [] : nil }
        var text = ByteBuffer(capacity: pseudo.count + lines.textByteCount + cookie.count + 128)
        text.append(pseudo.readable.extracting(method))
        text.append(" ")
        if isConnect == true {
            // CONNECT is refused by its name (RFC 9110 section 9.3.6), so its authority is not used
            // as a target.
            text.append("* HTTP/1.1\r\n\r\n")
            return text.readable.array
        }
        guard let path = place(.path), isPath(path), let scheme = place(.scheme),
            isScheme(scheme)
        else { return isTooLarge ? [] : nil }
        text.append(pseudo.readable.extracting(path))
        text.append(" HTTP/1.1\r\n")
        guard appendHost(to: &text) else { return nil }
        lines.append(to: &text)
        if !cookie.isEmpty {
            text.append("cookie: ")
            text.append(cookie.readable)
            text.append("\r\n")
            lines.countLine()
        }
        if hasBody, !hasContentLength {
            text.append("transfer-encoding: chunked\r\n")
            lines.countLine()
        }
        text.append("\r\n")
        return text.readable.array
    }

    private func place(_ kind: Pseudo) -> Range<Int>? { places[kind.rawValue] }

    /// Appends the host. False if `:authority` and `host` differ (RFC 9113 section 8.3.1). If
    /// neither is there, the parser refuses the request.
    private mutating func appendHost(to text: inout ByteBuffer) -> Bool {
        guard let authority = place(.authority) ?? host else { return true }
        if let host {
            let named = pseudo.readable.extracting(authority)
            guard ASCII.equalsIgnoringCase(named, pseudo.readable.extracting(host)) else {
                return false
            }
        }
        text.append("host: ")
        text.append(pseudo.readable.extracting(authority))
        text.append("\r\n")
        lines.countLine()
        return true
    }

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

    // MARK: bytes

    /// True for visible ASCII alone, as it stands between the spaces of a request line, or for a
    /// host.
    private static func isWord(_ value: Span<UInt8>) -> Bool {
        for index in value.indices {
            guard value[index] > 0x20, value[index] < 0x7F else { return false }
        }
        return true
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
