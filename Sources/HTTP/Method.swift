/// Request methods that the gateway treats specially (RFC 9110 section 9, RFC 5789).
public enum Method: UInt8, Sendable, CaseIterable {
    case get, head, post, put, delete, options, patch, trace, connect, other

    /// True for a safe method (RFC 9110 section 9.2.1).
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        case .post, .put, .delete, .patch, .connect, .other: false
        }
    }

    /// True for a method that may be sent again if it is not known whether it took effect (RFC 9110
    /// section 9.2.2).
    public var isIdempotent: Bool { isSafe || self == .put || self == .delete }

    /// The name of the method; empty for `other`.
    public var name: StaticString {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .patch: "PATCH"
        case .trace: "TRACE"
        case .connect: "CONNECT"
        case .other: ""
        }
    }

    /// The longest method that is accepted. IANA's registry has none above 18 bytes.
    static let byteCountMax = 32

    /// The method of that name, case-sensitive. `packed` holds its last eight bytes, the last one
    /// in the lowest byte.
    init(packed: UInt64, byteCount: Int) {
        self =
            switch (byteCount, packed) {
            case (3, 0x47_4554): .get
            case (4, 0x4845_4144): .head
            case (4, 0x504F_5354): .post
            case (3, 0x50_5554): .put
            case (6, 0x4445_4C45_5445): .delete
            case (7, 0x4F_5054_494F_4E53): .options
            case (5, 0x50_4154_4348): .patch
            case (5, 0x54_5241_4345): .trace
            case (7, 0x43_4F4E_4E45_4354): .connect
            default: .other
            }
    }

    /// The method that `name` spells; `other` if there is none.
    public init(name: Span<UInt8>) {
        var packed: UInt64 = 0
        for index in name.indices { packed = packed &<< 8 | UInt64(name[index]) }
        self.init(packed: packed, byteCount: name.count)
    }
}
