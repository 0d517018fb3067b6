import Attestation
import Bytes
import Crypto
import EventLoop
package import JSON
package import KeyStore
import Settings

/// A key record as one line of JSON: the documented members, and all others that are known.
package enum KeyLine {
    /// `bitNames`: the names of the device's bits. Another configuration also reads them by Apple's
    /// names.
    package static func text(
        _ record: KeyRecord, users: [KeyUser] = [],
        bitNames: [String] = DeviceCheckSettings.appleBitNames
    ) -> String {
        var writer = JSONWriter()
        write(record, users: users, bitNames: bitNames, to: &writer)
        let buffer = writer.finish()
        return String(decoding: buffer.readable.array, as: UTF8.self)
    }

    /// Writes a record as an object.
    package static func write(
        _ record: KeyRecord, users: [KeyUser] = [], bitNames: [String],
        to writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("key_id", string: record.keyID.base64)
        if record.status != .erased {
            writer.member("public_key", string: Base64.encode(record.publicKey.x963))
            writer.member("app_id", string: record.appID)
            writer.member("environment", string: record.environment.rawValue)
            writer.member("platform", string: record.platform.text)
            if let level = record.securityLevel {
                writer.member("security_level", string: level.rawValue)
            }
        }
        writer.member("counter", int: Int64(record.counterFloor))
        writer.member("status", string: record.status.rawValue)
        if record.status != .erased {
            writer.member("enrolled_at", string: WallClock.timestamp(seconds: record.enrolledAt))
            if let version = record.bundleVersion {
                writer.member("bundle_version", string: version)
            }
            if let category = record.validationCategory {
                writer.member("validation_category", int: Int64(category))
            }
            if !record.certificates.isEmpty {
                writer.beginArray("certificates")
                for serial in record.certificates { writer.element(string: serial) }
                writer.endArray()
            }
            if let metric = record.riskMetric {
                writer.member("risk_metric", int: Int64(metric))
            }
            if let bits = record.deviceBits {
                writer.beginObject("device_bits")
                for (index, name) in bitNames.enumerated() {
                    writer.member(named: name, value: .bool(bits[index]))
                }
                writer.endObject()
            }
            if let receipt = record.receipt {
                writer.member("receipt", string: Base64.encode(receipt))
            }
            if let state = record.receiptState { ReceiptStateText.write(state, to: &writer) }
            writer.member("installation", string: record.installation.description)
            if let place = record.succession { SuccessionText.write(place, to: &writer) }
        }
        write(users, to: &writer)
        writer.endObject()
    }

    /// Writes the users for whom the key was used. They are not parsed again.
    private static func write(_ users: [KeyUser], to writer: inout JSONWriter) {
        guard !users.isEmpty else { return }
        writer.beginArray("users")
        for user in users {
            writer.beginObject()
            writer.member("user", string: Hex.encode(user.user.value.array))
            writer.member("first_seen", string: WallClock.timestamp(seconds: user.firstSeen / 1000))
            writer.member("last_seen", string: WallClock.timestamp(seconds: user.lastSeen / 1000))
            writer.endObject()
        }
        writer.endArray()
    }

    /// The known members, made once because an import needs them for each line.
    private static let knownMembers: Set<String> = [
        "key_id", "public_key", "app_id", "environment", "counter", "status", "enrolled_at",
        "platform", "security_level", "certificates",
        "bundle_version", "validation_category", "risk_metric", "device_bits", "receipt",
        "receipt_state", "users", "installation", "succession",
    ]

    /// The reason why a line is not a key record.
    package struct Failure: Error {
        package let description: String

        init(_ description: String) { self.description = description }
    }

    /// Parses the record of one line. `now` replaces a missing `enrolled_at`; `bitNames` are
    /// accepted for the bits of devices, as Apple's names are.
    package static func parse(
        _ line: Span<UInt8>, now: Int64, bitNames: [String]
    ) throws(Failure) -> KeyRecord {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(line, byteCountMax: byteCountMax, depthMax: 4)
        } catch {
            throw Failure("\(error)")
        }
        guard case .object(let members) = value else { throw Failure("not a JSON object") }
        if let unknown = members.keys.first(where: { !knownMembers.contains($0) }) {
            throw Failure("unknown member \(unknown)")
        }
        guard let keyID = KeyID(base64: try required("key_id", members)) else {
            throw Failure("key_id is not base64 of 32 bytes")
        }
        if try optional("status", members) == KeyStatus.erased.rawValue {
            return try erased(keyID, members)
        }
        let pointText = try required("public_key", members)
        let point = Base64.decode(pointText) ?? []
        guard let publicKey = P256PublicKey(x963: point.span) else {
            throw Failure("public_key is not base64 of an uncompressed P-256 point")
        }
        guard KeyID(of: publicKey) == keyID else {
            throw Failure("key_id is not the SHA-256 of public_key")
        }
        let environmentText = try required("environment", members)
        guard let environment = AttestEnvironment(rawValue: environmentText) else {
            throw Failure("environment is neither production nor development")
        }
        var record = KeyRecord(
            keyID: keyID, publicKey: publicKey, appID: try required("app_id", members),
            environment: environment, enrolledAt: now)
        try readOptional(members, into: &record)
        record.deviceBits = try deviceBits(members["device_bits"], bitNames)
        return record
    }

    /// Parses the line of an erased key, which holds only its id and its counter.
    private static func erased(
        _ keyID: KeyID, _ members: [String: JSONValue]
    ) throws(Failure) -> KeyRecord {
        let kept: Set<String> = ["key_id", "counter", "status"]
        if let other = members.keys.sorted().first(where: { !kept.contains($0) }) {
            throw Failure("\(other) of an erased key")
        }
        var record = KeyRecord(
            keyID: keyID, publicKey: .erased, appID: "", environment: .production, enrolledAt: 0,
            status: .erased)
        record.counterFloor = try counter(members)
        return record
    }

    private static func counter(_ members: [String: JSONValue]) throws(Failure) -> UInt32 {
        guard let counter = try integer("counter", members) else { return 0 }
        guard let floor = UInt32(exactly: counter) else {
            throw Failure("counter is not between 0 and 4294967295")
        }
        return floor
    }

    private static func readOptional(
        _ members: [String: JSONValue], into record: inout KeyRecord
    ) throws(Failure) {
        record.counterFloor = try counter(members)
        if let text = try optional("status", members) {
            guard let status = KeyStatus(rawValue: text), status != .erased else {
                throw Failure("status is not one of active, revoked, erased")
            }
            record.status = status
        }
        if let text = try optional("enrolled_at", members) {
            guard let seconds = WallClock.seconds(fromTimestamp: text) else {
                throw Failure("enrolled_at is not an RFC 3339 time")
            }
            record.enrolledAt = seconds
        }
        if let text = try optional("platform", members) { record.platform = PlatformName(text) }
        if let text = try optional("security_level", members) {
            guard let level = SecurityLevel(rawValue: text) else {
                throw Failure("security_level is neither tee nor strongbox")
            }
            record.securityLevel = level
        }
        record.certificates = try certificates(members["certificates"])
        record.bundleVersion = try optional("bundle_version", members)
        if let category = try integer("validation_category", members) {
            record.validationCategory = UInt32(exactly: category)
        }
        if let metric = try integer("risk_metric", members) {
            guard let metric = UInt32(exactly: metric) else {
                throw Failure("risk_metric is not between 0 and 4294967295")
            }
            record.riskMetric = metric
        }
        if let text = try optional("receipt", members) {
            guard let receipt = Base64.decode(text) else { throw Failure("receipt is not base64") }
            record.receipt = receipt
            // The age of an imported receipt is not known, so it is due at once.
            record.receiptState = ReceiptState(
                dueAt: record.status == .active ? record.enrolledAt : nil)
        }
        record.succession = try SuccessionText.parse(
            members["succession"], installation: try optional("installation", members))
        switch members["receipt_state"] {
        case nil, .null: break
        case .object(let state):
            guard record.receipt != nil else { throw Failure("receipt_state without a receipt") }
            record.receiptState = try ReceiptStateText.parse(state)
        default: throw Failure("receipt_state is not an object")
        }
    }

    /// The most certificates above a key; a chain has at most six.
    private static let certificateCountMax = 8

    /// Parses the serial numbers of certificates, in the form in which revocation lists name them.
    private static func certificates(_ value: JSONValue?) throws(Failure) -> [String] {
        guard let value, value != .null else { return [] }
        guard case .array(let elements) = value, elements.count <= certificateCountMax else {
            throw Failure("certificates is not an array of at most \(certificateCountMax) texts")
        }
        var serials: Set<String> = []
        for element in elements {
            guard case .string(let text) = element, (1...40).contains(text.utf8.count),
                text.utf8.allSatisfy({
                    (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
                }),
                !text.hasPrefix("0") || text == "0"
            else {
                throw Failure(
                    "certificates: not a serial number in lower-case hexadecimal without leading "
                        + "zeros")
            }
            serials.insert(text)
        }
        return serials.sorted()
    }

    /// Parses both bits; nil if the line does not have both.
    private static func deviceBits(
        _ value: JSONValue?, _ names: [String]
    ) throws(Failure) -> DeviceBits? {
        guard let value, value != .null else { return nil }
        guard case .object(let members) = value, members.count == 2 else {
            throw Failure("device_bits is not an object of two bits")
        }
        var bits: [Bool?] = [nil, nil]
        for (name, member) in members.sorted(by: { $0.key < $1.key }) {
            guard let index = DeviceCheckSettings.bit(named: name, in: names) else {
                throw Failure("device_bits: no bit is named \(name)")
            }
            guard case .bool(let flag) = member, bits[index] == nil else {
                throw Failure("device_bits: \(name) is neither true nor false, or named twice")
            }
            bits[index] = flag
        }
        return DeviceBits(bit0: bits[0] ?? false, bit1: bits[1] ?? false)
    }

    static func optional(
        _ name: String, _ members: [String: JSONValue]
    ) throws(Failure) -> String? {
        switch members[name] {
        case nil, .null: return nil
        case .string(let text): return text
        default: throw Failure("\(name) is not a string")
        }
    }

    private static func required(
        _ name: String, _ members: [String: JSONValue]
    ) throws(Failure) -> String {
        guard let text = try optional(name, members) else { throw Failure("\(name) is missing") }
        return text
    }

    static func integer(
        _ name: String, _ members: [String: JSONValue]
    ) throws(Failure) -> Int64? {
        switch members[name] {
        case nil, .null: return nil
        case .integer(let number): return number
        default: throw Failure("\(name) is not an integer")
        }
    }

    /// The longest line: a record with a receipt of 8 KiB, with room.
    static let byteCountMax = 64 * 1024
}
