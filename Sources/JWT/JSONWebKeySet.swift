import Bytes
import Crypto
import JSON

/// The reason why a document is not a set of keys by which tokens can be checked. The text shows
/// nothing from the document.
public struct JSONWebKeySetError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

/// The public keys by which an issuer's tokens are checked (RFC 7517 section 5).
///
/// A key may have no id (RFC 7517 section 4.5), and a token may name none (RFC 7515 section 4.1.4).
/// Such a token is tried against the keys without an id, of which there are few. An invalid one
/// costs a check by each of them.
///
/// Keys that cannot be used are left out, as the RFC says: those of other kinds and curves, of
/// other lengths, for encryption, and secrets, which have no place in a public document.
public final class JSONWebKeySet: Sendable {
    private struct Entry: Sendable {
        let id: [UInt8]?
        /// Nil if the document does not say.
        let algorithm: TokenAlgorithm?
        let key: TokenKey
        /// The members of the document.
        let members: [(name: StaticString, value: String)]

        func fits(_ other: TokenAlgorithm) -> Bool {
            key.kind == other.kind && algorithm.map { $0 == other } ?? true
        }
    }

    private let entries: [Entry]
    private let faults: [JSONWebKeyFault]

    /// The longest document: some hundred keys of RSA.
    public static let byteCountMax = 64 * 1024
    /// The most keys. Issuers have two to ten, an old and a new one of each kind. Each takes some
    /// kilobytes, and each is decoded when the document is parsed.
    public static let keyCountMax = 64
    /// The most keys without an id for one algorithm: an old and a new one, and some to spare.
    public static let unnamedCountMax = 4
    /// The deepest nesting: a set, its array and its keys, which may hold arrays of certificates.
    private static let depthMax = 8

    /// The number of keys that can check tokens signed by one of `algorithms`, and of those that
    /// cannot.
    public func tally(for algorithms: Set<TokenAlgorithm>) -> JSONWebKeyTally {
        var tally = JSONWebKeyTally(faults)
        for entry in entries {
            let isUsed = algorithms.contains(where: entry.fits)
            if isUsed { tally.usedCount += 1 } else { tally.leaveOut(.algorithm) }
        }
        return tally
    }

    /// Throws if the document is no set, if it has no usable key, if two keys fit a token that
    /// names its key, or if too many fit one that names none.
    public init(parsing document: Span<UInt8>) throws(JSONWebKeySetError) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(
                document, byteCountMax: Self.byteCountMax, depthMax: Self.depthMax)
        } catch {
            throw JSONWebKeySetError("\(error)")
        }
        guard case .array(let keys)? = value["keys"] else {
            throw JSONWebKeySetError("no JSON object with an array \"keys\"")
        }
        guard keys.count <= Self.keyCountMax else {
            throw JSONWebKeySetError("more than \(Self.keyCountMax) keys")
        }
        guard !keys.isEmpty else { throw JSONWebKeySetError("it has no keys") }
        var entries: [Entry] = []
        var faults: [JSONWebKeyFault] = []
        for key in keys {
            do throws(JSONWebKeyFault) {
                entries.append(try Self.entry(key))
            } catch {
                faults.append(error)
                continue
            }
            try Self.checkSameID(entries)
        }
        guard !entries.isEmpty else {
            throw JSONWebKeySetError("no key can be used; " + JSONWebKeyTally(faults).leftOutText)
        }
        self.entries = entries
        self.faults = faults
    }

    /// The keys that a token with this header may be signed with: the one that it names, or those
    /// without an id if it names none; in either case the only key, if there is only one.
    func keys(id: [UInt8]?, for algorithm: TokenAlgorithm) throws(TokenFailure) -> [TokenKey] {
        let named = entries.filter { entry in
            entry.id == id || entries.count == 1 && (id == nil || entry.id == nil)
        }
        guard !named.isEmpty else { throw .keyUnknown }
        let fitting = named.filter { $0.fits(algorithm) }
        guard !fitting.isEmpty else { throw .algorithm }
        return fitting.map(\.key)
    }

    /// A document of the usable keys, which parses to the same set. It has neither their other
    /// members nor any other keys.
    public var document: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.beginArray("keys")
        for entry in entries {
            writer.beginObject()
            for member in entry.members { writer.member(member.name, string: member.value) }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.finish().readable.array
    }

    // MARK: single keys

    /// Throws if more keys have the id of the last one, and are for the same algorithm, than may.
    private static func checkSameID(_ entries: [Entry]) throws(JSONWebKeySetError) {
        guard let last = entries.last else { return }
        let same = entries.filter { $0.id == last.id }
        let count =
            TokenAlgorithm.allCases.filter(last.fits)
            .map { algorithm in same.count { $0.fits(algorithm) } }.max() ?? 0
        guard last.id == nil else {
            guard count == 1 else {
                throw JSONWebKeySetError("two keys of the same kid for the same algorithm")
            }
            return
        }
        guard count <= unnamedCountMax else {
            throw JSONWebKeySetError(
                "more than \(unnamedCountMax) keys without a kid for the same algorithm")
        }
    }

    private static func entry(_ key: JSONValue) throws(JSONWebKeyFault) -> Entry {
        guard key.objectValue != nil else { throw .form }
        guard key["d"] == nil, key["kty"]?.stringValue != "oct" else { throw .secret }
        guard isForSignatures(key) else { throw .use }
        var algorithm: TokenAlgorithm?
        if let named = key["alg"] {
            algorithm = named.stringValue.flatMap(TokenAlgorithm.init(rawValue:))
            guard algorithm != nil else { throw .algorithm }
        }
        var id: [UInt8]?
        if let named = key["kid"] {
            id = named.stringValue.map { Array($0.utf8) }
            guard id != nil else { throw .form }
        }
        let members = memberNames.compactMap { name in
            key["\(name)"]?.stringValue.map { (name: name, value: $0) }
        }
        let entry = Entry(
            id: id, algorithm: algorithm, key: try publicKey(key), members: members)
        guard algorithm.map(entry.fits) ?? true else { throw .algorithm }
        return entry
    }

    private static let memberNames: [StaticString] = [
        "kty", "crv", "kid", "alg", "n", "e", "x", "y",
    ]

    /// True if the key is for signatures, by RFC 7517 sections 4.2 and 4.3.
    private static func isForSignatures(_ key: JSONValue) -> Bool {
        if let use = key["use"], use.stringValue != "sig" { return false }
        guard let operations = key["key_ops"] else { return true }
        return operations.arrayValue?.contains(.string("verify")) ?? false
    }

    private static func publicKey(_ key: JSONValue) throws(JSONWebKeyFault) -> TokenKey {
        func number(_ name: String) -> [UInt8] {
            key[name]?.stringValue.flatMap { Base64URL.decode(Array($0.utf8).span) } ?? []
        }
        let found: TokenKey?
        switch (key["kty"]?.stringValue, key["crv"]?.stringValue) {
        case ("RSA", nil): found = try? TokenKey(modulus: number("n"), exponent: number("e"))
        case ("EC", "P-256"): found = try? TokenKey(.p256, x: number("x"), y: number("y"))
        case ("EC", "P-384"): found = try? TokenKey(.p384, x: number("x"), y: number("y"))
        case ("OKP", "Ed25519"): found = try? TokenKey(ed25519: number("x"))
        default: throw .kind
        }
        guard let found else { throw .numbers }
        return found
    }
}
