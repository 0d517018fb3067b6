import Bytes
public import Crypto
import JSON

/// The keys by which an issuer's tokens are checked.
public enum TokenKeys: Sendable {
    case published(JSONWebKeySet)
    /// Shared secrets. Each is tried, because such tokens seldom name their key.
    case secrets([HMACKey])
}

/// A valid token.
public struct VerifiedToken: Hashable, Sendable {
    /// The claim `sub`; nil if there is none.
    public let subject: String?
    /// The claim `exp`, in seconds since 1970.
    public let expiresAt: Int64
}

/// Checks tokens that other issuers have signed (RFC 7519, RFC 7515), as RFC 8725 advises:
/// algorithms and keys are those that were agreed on, and a token can name no other.
public struct TokenVerifier: Sendable {
    /// The value that `iss` must have; nil to accept any.
    public var issuer: String?
    /// The values of which `aud` must hold one; empty to accept any.
    public var audiences: [String]
    public var algorithms: Set<TokenAlgorithm>
    /// The values of which `sub` must be one; empty to accept any, or none.
    public var subjects: [String]
    /// The seconds by which a token may begin later than this machine's clock. Its end is exact.
    public var clockSkewSeconds: Int64

    /// The characters of the longest token that is checked: four times the longest that the usual
    /// issuers make.
    public static let byteCountMax = 8192
    private static let depthMax = 8

    public init(
        issuer: String?, audiences: [String], algorithms: Set<TokenAlgorithm>,
        subjects: [String] = [], clockSkewSeconds: Int64 = 60
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.algorithms = algorithms
        self.subjects = subjects
        self.clockSkewSeconds = clockSkewSeconds
    }

    /// Returns the claims of `token`, if it is valid at `seconds` since 1970. No claim is read
    /// before the signature was checked.
    public func verify(
        _ token: Span<UInt8>, keys: TokenKeys, at seconds: Int64
    ) throws(TokenFailure) -> VerifiedToken {
        let payload = try payload(of: token, keys: keys)
        return try readClaims(try Self.object(payload), at: seconds)
    }

    /// Returns the signed payload, whatever it holds, if the signature is valid.
    public func payload(
        of token: Span<UInt8>, keys: TokenKeys
    ) throws(TokenFailure) -> [UInt8] {
        guard let parts = Parts(token) else { throw .malformed }
        let header = try readHeader(token.extracting(parts.header))
        guard let signature = Base64URL.decode(token.extracting(parts.signature)),
            let payload = Base64URL.decode(token.extracting(parts.claims))
        else { throw .malformed }
        try check(signature.span, of: token.extracting(parts.signed), header, keys)
        return payload
    }

    /// Throws unless `token` has the form and the header of one that could be checked.
    public func checkForm(_ token: Span<UInt8>) throws(TokenFailure) {
        guard let parts = Parts(token) else { throw .malformed }
        _ = try readHeader(token.extracting(parts.header))
    }

    // MARK: parts

    /// The compact serialization (RFC 7515 section 7.1): three parts, two periods.
    private struct Parts {
        let header: Range<Int>
        let claims: Range<Int>
        let signature: Range<Int>

        var signed: Range<Int> { 0..<claims.upperBound }

        init?(_ token: Span<UInt8>) {
            guard token.count <= TokenVerifier.byteCountMax else { return nil }
            var periods: [Int] = []
            for index in token.indices where token[index] == UInt8(ascii: ".") {
                guard periods.count < 2 else { return nil }
                periods.append(index)
            }
            guard periods.count == 2, periods[0] > 0, periods[1] < token.count - 1 else {
                return nil
            }
            header = 0..<periods[0]
            claims = (periods[0] + 1)..<periods[1]
            signature = (periods[1] + 1)..<token.count
        }
    }

    private struct Header {
        let algorithm: TokenAlgorithm
        let keyID: [UInt8]?
    }

    private func readHeader(_ text: Span<UInt8>) throws(TokenFailure) -> Header {
        guard let json = Base64URL.decode(text) else { throw .malformed }
        let members = try Self.object(json)
        guard !members.has("crit") else { throw .critical }
        guard let name = members.string("alg") else { throw .malformed }
        guard let algorithm = TokenAlgorithm(rawValue: String(decoding: name, as: UTF8.self)),
            algorithms.contains(algorithm)
        else { throw .algorithm }
        let keyID = members.string("kid")
        guard keyID != nil || !members.has("kid") else { throw .malformed }
        return Header(algorithm: algorithm, keyID: keyID)
    }

    private static func object(_ json: [UInt8]) throws(TokenFailure) -> JSONObjectReader {
        do {
            return try JSONObjectReader(
                parsing: json.span, byteCountMax: byteCountMax, depthMax: depthMax)
        } catch {
            throw .malformed
        }
    }

    // MARK: the signature

    private func check(
        _ signature: Span<UInt8>, of signed: Span<UInt8>, _ header: Header, _ keys: TokenKeys
    ) throws(TokenFailure) {
        let isValid: Bool
        switch keys {
        case .published(let set):
            guard let scheme = header.algorithm.scheme else { throw .algorithm }
            isValid = try set.keys(id: header.keyID, for: header.algorithm).contains { key in
                key.isValid(signature, message: signed, scheme: scheme)
            }
        case .secrets(let secrets):
            guard header.algorithm.isSymmetric else { throw .algorithm }
            guard let code = Bytes32(signature) else { throw .signature }
            var found = false
            for secret in secrets {
                found = HMACSHA256.isValid(code, for: signed, key: secret) || found
            }
            isValid = found
        }
        if !isValid { throw .signature }
    }

    // MARK: claims

    private func readClaims(
        _ claims: borrowing JSONObjectReader, at seconds: Int64
    ) throws(TokenFailure) -> VerifiedToken {
        guard let expiresAt = claims.integer("exp") else { throw .malformed }
        guard seconds < expiresAt else { throw .expired }
        for name in ["nbf", "iat"] as [StaticString] where claims.has(name) {
            guard let start = claims.integer(name) else { throw .malformed }
            guard start <= seconds + clockSkewSeconds else { throw .notYetValid }
        }
        if let issuer {
            guard let own = claims.string("iss"), own.elementsEqual(issuer.utf8) else {
                throw .issuer
            }
        }
        guard audiences.isEmpty || audiences.contains(where: { Self.names($0, claims) }) else {
            throw .audience
        }
        let subject = claims.string("sub").map { String(decoding: $0, as: UTF8.self) }
        if !subjects.isEmpty {
            // By their bytes: to Swift more than one text is equal to some.
            guard let subject,
                subjects.contains(where: { $0.utf8.elementsEqual(subject.utf8) })
            else { throw .subject }
        }
        return VerifiedToken(subject: subject, expiresAt: expiresAt)
    }

    /// RFC 7519 section 4.1.3: `aud` is a text or an array of texts.
    private static func names(_ audience: String, _ claims: borrowing JSONObjectReader) -> Bool {
        if let only = claims.string("aud") { return only.elementsEqual(audience.utf8) }
        return claims.contains(audience, inArray: "aud")
    }
}
