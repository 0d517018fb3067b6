public import Bytes

/// The client data of the `header` shape: JSON that binds what a device signs to one request.
///
/// `{challenge, method, path, bodySHA256}`, optionally `query` and `keyId`; other members are
/// ignored. It becomes evidence only when a signature over exactly these bytes (or their SHA-256)
/// has been verified; until then it may be read to learn the key id and the challenge.
public struct RequestClientData: Sendable {
    /// The strings in one piece of memory, which is the JSON itself if it has no escapes.
    private let text: [UInt8]
    private let challengeRange: Range<Int>?
    private let methodRange: Range<Int>
    private let pathRange: Range<Int>
    private let queryRange: Range<Int>?
    /// SHA-256 of the body; of no bytes if there is no body.
    public let bodyDigest: Bytes32
    /// The key that signs, if the app names it inside.
    public let keyID: KeyID?

    /// UTF-8 of the challenge; nil if there is none (a route may ask for none).
    public var challenge: Span<UInt8>? {
        @_lifetime(borrow self)
        get {
            guard let challengeRange else { return nil }
            return text.span.extracting(challengeRange)
        }
    }
    /// UTF-8 of the method, in the case of the request line.
    public var method: Span<UInt8> {
        @_lifetime(borrow self)
        get { text.span.extracting(methodRange) }
    }
    /// UTF-8 of the path, decoded as `url.path` is, or raw, or raw with a query.
    public var path: Span<UInt8> {
        @_lifetime(borrow self)
        get { text.span.extracting(pathRange) }
    }
    /// UTF-8 of the query as on the wire, without its `?`.
    public var query: Span<UInt8>? {
        @_lifetime(borrow self)
        get {
            guard let queryRange else { return nil }
            return text.span.extracting(queryRange)
        }
    }

    /// Members that client data of this shape always has. A JSON object with all of them is taken
    /// for client data.
    public static let requiredMembers = [ClientDataMembers.Name.method, .path, .bodySHA256]
        .map(\.text)

    /// `json` is what the header's base64 decodes to, at most `byteCountMax` bytes.
    public init(parsing json: Span<UInt8>, byteCountMax: Int) throws(ClientDataFailure) {
        try self.init(parsing: json.array, byteCountMax: byteCountMax)
    }

    /// Reads `json` without a copy, and holds on to it.
    public init(parsing json: [UInt8], byteCountMax: Int) throws(ClientDataFailure) {
        try self.init(ClientDataMembers(json, byteCountMax: byteCountMax))
    }

    private init(_ members: ClientDataMembers) throws(ClientDataFailure) {
        let digest = try members.required(.bodySHA256)
        guard let bodyDigest = Base64.decode32(members.text.span.extracting(digest)) else {
            throw .malformed(.bodySHA256)
        }
        if let range = try members.optional(.keyId) {
            guard let keyID = KeyID(base64: members.text.span.extracting(range)) else {
                throw .malformed(.keyId)
            }
            self.keyID = keyID
        } else {
            keyID = nil
        }
        challengeRange = try members.optional(.challenge)
        methodRange = try members.required(.method)
        pathRange = try members.required(.path)
        queryRange = try members.optional(.query)
        self.bodyDigest = bodyDigest
        text = members.text
    }

    /// The first difference between the request and what was signed, nil if there is none.
    ///
    /// `target` is the request target in origin form, byte for byte as it came (RFC 9112 section
    /// 3.2.1). The rule for the path, with `raw` the target up to its first `?`:
    /// - a signed `path` with a `?` must equal the whole target;
    /// - any other must equal `raw`, or what one percent-decoding makes of `raw`, because Swift's
    ///   `url.path` is decoded. Nothing is normalised: no dot segments, no slashes, no case.
    /// - a signed `query` must equal the part after the first `?`, an empty one also a target
    ///   without.
    /// - if neither has a query, the request's query is not signed and not compared: `url.path` has
    ///   none, and some apps sign it alone. Apps should sign `query`.
    public func check(
        method: Span<UInt8>, target: Span<UInt8>, bodyDigest: Bytes32
    ) -> ClientDataMismatch? {
        guard ASCII.equals(method, self.method) else { return .method }
        let mark = target.firstIndex(of: 0x3F)
        let rawPath = target.extracting(0..<(mark ?? target.count))
        if path.firstIndex(of: 0x3F) != nil {
            guard ASCII.equals(target, path) else { return .path }
        } else {
            guard ASCII.equals(rawPath, path) || rawPath.percentDecodedEquals(path) else {
                return .path
            }
        }
        if let query {
            let rawQuery = target.extracting((mark.map { $0 + 1 } ?? target.count)..<target.count)
            guard ASCII.equals(rawQuery, query) else { return .query }
        }
        guard bodyDigest == self.bodyDigest else { return .body }
        return nil
    }
}

extension Span where Element == UInt8 {
    fileprivate func firstIndex(of byte: UInt8) -> Int? {
        for index in indices where self[index] == byte { return index }
        return nil
    }

    /// True if decoding each percent-encoded byte once (RFC 3986 section 2.1) gives `plain`. False
    /// if a `%` is not followed by two digits, because decoders disagree about it.
    fileprivate func percentDecodedEquals(_ plain: Span<UInt8>) -> Bool {
        var index = 0
        var plainIndex = 0
        while index < count {
            var byte = self[index]
            index += 1
            if byte == 0x25 {
                guard count - index >= 2, let high = Hex.value(self[index]),
                    let low = Hex.value(self[index + 1])
                else { return false }
                byte = high << 4 | low
                index += 2
            }
            guard plainIndex < plain.count, plain[plainIndex] == byte else { return false }
            plainIndex += 1
        }
        return plainIndex == plain.count
    }
}
