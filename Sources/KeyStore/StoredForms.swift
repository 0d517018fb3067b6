public import Attestation
import Bytes
public import Crypto

extension KeyStatus {
    public var code: Int64 {
        switch self {
        case .active: 0
        case .revoked: 1
        case .erased: 2
        }
    }

    public init?(code: Int64) {
        switch code {
        case 0: self = .active
        case 1: self = .revoked
        case 2: self = .erased
        default: return nil
        }
    }
}

extension AttestEnvironment {
    public var code: Int64 {
        switch self {
        case .production: 0
        case .development: 1
        }
    }

    public init?(code: Int64) {
        switch code {
        case 0: self = .production
        case 1: self = .development
        default: return nil
        }
    }
}

extension PlatformName {
    /// The name in a row; nil, as in rows that are older than platforms, means Apple's.
    public var stored: String? { self == .apple ? nil : text }

    public init(stored: String?) { self = stored.map { PlatformName($0) } ?? .apple }
}

extension SecurityLevel {
    public var code: Int64 {
        switch self {
        case .tee: 1
        case .strongbox: 2
        }
    }

    public init?(code: Int64) {
        switch code {
        case 1: self = .tee
        case 2: self = .strongbox
        default: return nil
        }
    }
}

extension DeviceBits {
    public var code: Int64 { (bit0 ? 1 : 0) | (bit1 ? 2 : 0) }

    public init?(code: Int64) {
        guard (0...3).contains(code) else { return nil }
        self.init(bit0: code & 1 != 0, bit1: code & 2 != 0)
    }
}

extension ReceiptKind {
    public var code: Int64 {
        switch self {
        case .attest: 0
        case .receipt: 1
        }
    }

    public init?(code: Int64) {
        switch code {
        case 0: self = .attest
        case 1: self = .receipt
        default: return nil
        }
    }
}

extension P256PublicKey {
    /// The key of an erased record; no signature verifies with it.
    public static let erased = P256PublicKey(x: .zero, y: .zero)

    /// The two coordinates: the X9.63 form without its constant first byte.
    public var stored: [UInt8] { x.array + y.array }

    public init?(stored: [UInt8]?) {
        guard let stored, stored.count == 64,
            let x = Bytes32(stored.span.extracting(0..<32)),
            let y = Bytes32(stored.span.extracting(32..<64))
        else { return nil }
        self.init(x: x, y: y)
    }
}
