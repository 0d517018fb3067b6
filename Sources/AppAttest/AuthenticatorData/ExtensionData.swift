import Bytes
import CBOR

/// The map that ends the authenticator data of iOS 27 and macOS 27.
///
/// Signed like everything before it. Keys that are not known here are kept as they came.
public struct ExtensionData: Hashable, Sendable {
    /// `apple_bundle_version_01`: the app's `CFBundleVersion`.
    public let bundleVersion: String?
    /// `apple_validation_category_01`: how the app came onto the device; see
    /// ``ValidationCategory``. Sent as four little-endian bytes, documented as an integer.
    public let validationCategory: UInt32?
    /// Every other member (such as `apple_cd_hash_hash_01`), in the order sent.
    public let others: [Member]

    /// One member that has no field of its own.
    public struct Member: Hashable, Sendable {
        /// The text key, or the diagnostic notation of a key of another type.
        public let name: String
        /// The value's CBOR, already checked to be well formed.
        public let encoded: [UInt8]
    }

    public init(
        bundleVersion: String? = nil, validationCategory: UInt32? = nil, others: [Member] = []
    ) {
        self.bundleVersion = bundleVersion
        self.validationCategory = validationCategory
        self.others = others
    }

    /// Reads the bytes from `start` on: nil if there are none, else exactly one map.
    init?(trailing bytes: Span<UInt8>, from start: Int) throws(Malformation) {
        guard start < bytes.count else { return nil }
        do throws(CBORError) {
            var reader = try CBORReader(
                bytes.extracting(start..<bytes.count), limits: AuthenticatorData.limits)
            try self.init(&reader)
        } catch {
            guard error.reason == .unexpectedType || error.reason == .integerRange else {
                throw .cbor(CBORError(error.reason, at: start + error.offset))
            }
            throw .extensions
        }
    }

    private init(_ reader: inout CBORReader) throws(CBORError) {
        var bundleVersion: String?
        var validationCategory: UInt32?
        var others: [Member] = []
        for _ in 0..<(try reader.readMapCount()) {
            guard try reader.peekKind() == .text else {
                let key = try CBORValue.parse(
                    try reader.readItem(), limits: AuthenticatorData.limits)
                others.append(
                    Member(name: key.description, encoded: try reader.readItem().array))
                continue
            }
            let key = try reader.readText()
            if key.isText("apple_bundle_version_01") {
                bundleVersion = String(copying: try UTF8Span(checked: try reader.readText()))
            } else if key.isText("apple_validation_category_01") {
                validationCategory = try Self.category(&reader)
            } else {
                others.append(
                    Member(
                        name: String(decoding: key.array, as: UTF8.self),
                        encoded: try reader.readItem().array))
            }
        }
        self.init(
            bundleVersion: bundleVersion, validationCategory: validationCategory, others: others)
    }

    private static func category(_ reader: inout CBORReader) throws(CBORError) -> UInt32 {
        let offset = reader.offset
        guard try reader.peekKind() == .bytes else {
            guard let value = UInt32(exactly: try reader.readUnsigned()) else {
                throw CBORError(.integerRange, at: offset)
            }
            return value
        }
        let bytes = try reader.readBytes()
        guard bytes.count == 4 else { throw CBORError(.unexpectedType, at: offset) }
        var value: UInt32 = 0
        for index in (0..<4).reversed() { value = value << 8 | UInt32(bytes[index]) }
        return value
    }
}

/// The values of `apple_validation_category_01` that have a known meaning.
public enum ValidationCategory: UInt32, Sendable, CaseIterable {
    case operatingSystem = 1
    case testFlight = 2
    case development = 3
    case appStore = 4
    /// The app was installed by enterprise or ad hoc distribution.
    case enterprise = 5
    case developerID = 6
    case other = 10

    /// The category as one word, for logs and headers.
    public var name: String {
        switch self {
        case .operatingSystem: "os"
        case .testFlight: "testflight"
        case .development: "development"
        case .appStore: "app_store"
        case .enterprise: "enterprise"
        case .developerID: "developer_id"
        case .other: "other"
        }
    }
}

extension UTF8Span {
    /// A view of bytes that the CBOR reader has found to be UTF-8.
    @_lifetime(copy bytes)
    fileprivate init(checked bytes: Span<UInt8>) throws(CBORError) {
        do {
            self = try UTF8Span(validating: bytes)
        } catch {
            throw CBORError(.invalidUTF8, at: 0)
        }
    }
}
