import Bytes
public import JSON

/// The list of attestation certificates that Google no longer vouches for, as published at
/// `android.googleapis.com/attestation/status`.
///
/// `{"entries": {"<serial>": {"status": "REVOKED" | "SUSPENDED", ...}}}`, with serial numbers in
/// hexadecimal without leading zeros, and older ones in decimal. An entry of decimal digits alone
/// counts for both readings, because nothing tells which one is meant. An entry that can match no
/// certificate is ignored, so that one mistake does not keep the others from being known. A reading
/// takes 33 bytes of a hash table, and a look-up takes one probe.
public struct RevocationList: Sendable {
    /// The statuses that refuse a certificate.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        case revoked = "REVOKED"
        case suspended = "SUSPENDED"
    }

    /// The longest list. The one of April 2026 has 126 KB; a list of 32 times that size, with
    /// 50,000 entries, takes 40 MB while it is parsed.
    public static let byteCountMax = 4 * 1024 * 1024
    /// The most entries. The list of April 2026 has 1,648.
    public static let entryCountMax = 65_536
    /// The most digits of an entry: a serial number has 20 bytes, which take 40 digits in
    /// hexadecimal and 49 in decimal.
    public static let digitCountMax = 49
    /// The deepest nesting: the list, its entries, one entry, and one to spare for its members.
    private static let depthMax = 5

    private var statuses: [Bytes32: Status] = [:]
    /// The number of entries that refuse a certificate.
    public private(set) var count = 0
    /// The number of entries that refuse nothing: their status is not known or no text, or their
    /// name is no serial number.
    public private(set) var ignoredCount = 0

    /// Parses a list of at most ``byteCountMax`` bytes.
    public init(parsing json: Span<UInt8>) throws(RevocationListError) {
        let list: JSONValue
        do {
            list = try JSONValue.parse(
                json, byteCountMax: Self.byteCountMax, depthMax: Self.depthMax)
        } catch {
            throw .json(error)
        }
        guard let entries = list["entries"]?.objectValue else { throw .entriesMissing }
        guard entries.count <= Self.entryCountMax else { throw .tooManyEntries(entries.count) }
        for (serial, entry) in entries {
            guard let status = entry["status"]?.stringValue.flatMap(Status.init(rawValue:)),
                add(serial, status)
            else {
                ignoredCount += 1
                continue
            }
            count += 1
        }
    }

    /// Parses a list of at most ``byteCountMax`` bytes.
    public init(parsing json: [UInt8]) throws(RevocationListError) {
        try self.init(parsing: json.span)
    }

    /// The status of the certificate with this serial number; nil if the list does not refuse it.
    public func status(of serial: CertificateSerial) -> Status? { statuses[serial.number] }

    /// The serial numbers of revoked certificates, in lower-case hexadecimal without leading zeros,
    /// in both readings of entries of decimal digits alone. Numbers that are too long for a
    /// certificate are left out, and so are those of suspended ones: a suspension may be lifted.
    public var revokedSerials: [String] {
        statuses.filter { $0.value == .revoked }.keys
            .compactMap { CertificateSerial(number: $0)?.hex }.sorted()
    }

    /// Adds an entry. False if its name is no serial number.
    private mutating func add(_ serial: String, _ status: Status) -> Bool {
        guard (1...Self.digitCountMax).contains(serial.utf8.count),
            let number = Bytes32(hexNumber: serial.utf8)
        else { return false }
        add(number, status)
        if let number = Bytes32(decimalNumber: serial.utf8) { add(number, status) }
        return true
    }

    /// A revocation is final, and outweighs a suspension under the other reading.
    private mutating func add(_ number: Bytes32, _ status: Status) {
        if statuses[number] != .revoked { statuses[number] = status }
    }
}

/// The reason why a revocation list was not read.
public enum RevocationListError: Error, Hashable, Sendable, CustomStringConvertible {
    case json(JSONError)
    /// The list has no object `entries`.
    case entriesMissing
    case tooManyEntries(Int)

    public var description: String {
        switch self {
        case .json(let error): "\(error)"
        case .entriesMissing: "the list has no object \"entries\""
        case .tooManyEntries(let count):
            "the list has \(count) entries, more than \(RevocationList.entryCountMax)"
        }
    }
}
