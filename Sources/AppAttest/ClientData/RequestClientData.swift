public import Bytes
import JSON

/// The client data of the `header` shape: JSON that binds an assertion to one request.
///
/// `{challenge, method, path, bodySHA256}`, optionally `query` and `keyId`; other members are
/// ignored. It becomes evidence only when an assertion over the SHA-256 of exactly these bytes has
/// been verified; until then it may be read to learn the key id and the challenge.
public struct RequestClientData: Hashable, Sendable {
    /// UTF-8 of the challenge; nil if there is none (a route may ask for none).
    public let challenge: [UInt8]?
    /// UTF-8 of the method, in the letters that the request line has.
    public let method: [UInt8]
    /// UTF-8 of the path, decoded as `url.path` is, or raw, or raw with a query.
    public let path: [UInt8]
    /// UTF-8 of the query as on the wire, without its `?`.
    public let query: [UInt8]?
    /// SHA-256 of the body, of nothing if there is none.
    public let bodyDigest: Bytes32
    /// The key that signs, where the app says so inside.
    public let keyID: KeyID?

    /// Members that no client data of this shape lacks. A JSON object that has them all is one, or
    /// is not to be told from one.
    public static let requiredMembers: [StaticString] = ["method", "path", "bodySHA256"]

    /// `json` is what the header's base64 decodes to, at most `byteCountMax` bytes.
    public init(parsing json: Span<UInt8>, byteCountMax: Int) throws(ClientDataFailure) {
        try self.init(Self.open(json, byteCountMax: byteCountMax))
    }

    private static func open(
        _ json: Span<UInt8>, byteCountMax: Int
    ) throws(ClientDataFailure) -> JSONObjectReader {
        do {
            // A flat object; anything deeper can only be in members that are ignored.
            return try JSONObjectReader(parsing: json, byteCountMax: byteCountMax, depthMax: 8)
        } catch {
            throw .json(error.description)
        }
    }

    private init(_ reader: borrowing JSONObjectReader) throws(ClientDataFailure) {
        let encodedDigest = try Self.required("bodySHA256", in: reader)
        guard let digest = Base64.decode(encodedDigest.span), let bodyDigest = Bytes32(digest)
        else { throw .memberMalformed("bodySHA256") }
        let encodedKeyID = try Self.optional("keyId", in: reader)
        let keyID = encodedKeyID.flatMap { KeyID(base64: $0.span) }
        guard encodedKeyID == nil || keyID != nil else { throw .memberMalformed("keyId") }
        challenge = try Self.optional("challenge", in: reader)
        method = try Self.required("method", in: reader)
        path = try Self.required("path", in: reader)
        query = try Self.optional("query", in: reader)
        self.bodyDigest = bodyDigest
        self.keyID = keyID
    }

    private static func optional(
        _ name: StaticString, in reader: borrowing JSONObjectReader
    ) throws(ClientDataFailure) -> [UInt8]? {
        guard let value = reader.string(name) else {
            // `null` is refused too: a member that says nothing must not pass for one left out.
            guard !reader.has(name) else { throw .memberMalformed(name.description) }
            return nil
        }
        return value
    }

    private static func required(
        _ name: StaticString, in reader: borrowing JSONObjectReader
    ) throws(ClientDataFailure) -> [UInt8] {
        guard let value = try optional(name, in: reader) else {
            throw .memberMissing(name.description)
        }
        return value
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
    /// - where neither carries a query, the request's query is not signed and not compared:
    ///   `url.path` has none, and apps that sign it alone exist. Apps should sign `query`.
    public func check(
        method: Span<UInt8>, target: Span<UInt8>, bodyDigest: Bytes32
    ) -> ClientDataMismatch? {
        guard method.equals(self.method.span) else { return .method }
        let mark = target.firstIndex(of: 0x3F)
        let rawPath = target.extracting(0..<(mark ?? target.count))
        if path.contains(0x3F) {
            guard target.equals(path.span) else { return .path }
        } else {
            guard rawPath.equals(path.span) || rawPath.percentDecodedEquals(path.span) else {
                return .path
            }
        }
        if let query {
            let rawQuery = target.extracting((mark.map { $0 + 1 } ?? target.count)..<target.count)
            guard rawQuery.equals(query.span) else { return .query }
        }
        guard bodyDigest == self.bodyDigest else { return .body }
        return nil
    }
}

extension Span where Element == UInt8 {
    fileprivate func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }

    fileprivate func firstIndex(of byte: UInt8) -> Int? {
        for index in indices where self[index] == byte { return index }
        return nil
    }

    /// Whether decoding each percent-encoded byte once (RFC 3986 section 2.1) gives `plain`. False
    /// if a `%` is not followed by two digits: what that decodes to is anybody's guess.
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
