/// A frame of HTTP/2 (RFC 9113 section 4.1), valid or not.
public struct HTTP2Frame: Hashable, Sendable {
    public enum Kind: UInt8, Sendable {
        case data, headers, priority, reset, settings, pushPromise, ping, goAway, windowUpdate
        case continuation
    }

    public var type: UInt8
    public var flags: UInt8
    public var stream: UInt32
    public var payload: [UInt8]

    public static let endStream: UInt8 = 1
    public static let acknowledgement: UInt8 = 1
    public static let endHeaders: UInt8 = 4
    public static let padded: UInt8 = 8
    public static let prioritised: UInt8 = 32

    public init(
        _ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = []
    ) {
        self.init(type: kind.rawValue, flags: flags, stream: stream, payload: payload)
    }

    public init(type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = []) {
        self.type = type
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    public var kind: Kind? { Kind(rawValue: type) }

    /// Four bytes, as error codes, increments and identifiers are written.
    public static func word(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// The four bytes from `offset` on.
    public func word(at offset: Int) -> UInt32 {
        guard payload.count >= offset + 4 else { return .max }
        return payload[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    public var bytes: [UInt8] {
        let count = UInt32(payload.count)
        return Self.word(count).dropFirst() + [type, flags] + Self.word(stream) + payload
    }

    // MARK: the usual ones

    /// A request's fields in one frame.
    public static func headers(
        _ stream: UInt32, _ fields: [(String, String)], endStream: Bool = true,
        endHeaders: Bool = true
    ) -> HTTP2Frame {
        let flags = (endStream ? Self.endStream : 0) | (endHeaders ? Self.endHeaders : 0)
        return HTTP2Frame(
            .headers, flags: flags, stream: stream, payload: HeaderCompression.encode(fields))
    }

    /// As ``headers(_:_:endStream:endHeaders:)`` for names and values that are no text.
    public static func headers(
        _ stream: UInt32, bytes fields: [([UInt8], [UInt8])], endStream: Bool = true
    ) -> HTTP2Frame {
        HTTP2Frame(
            .headers, flags: (endStream ? Self.endStream : 0) | Self.endHeaders, stream: stream,
            payload: HeaderCompression.encode(bytes: fields))
    }

    public static func data(
        _ stream: UInt32, _ bytes: [UInt8], endStream: Bool = true
    ) -> HTTP2Frame {
        HTTP2Frame(
            .data, flags: endStream ? Self.endStream : 0, stream: stream, payload: bytes)
    }

    public static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> HTTP2Frame {
        HTTP2Frame(.windowUpdate, stream: stream, payload: word(increment))
    }

    public static func reset(_ stream: UInt32, code: UInt32 = 8) -> HTTP2Frame {
        HTTP2Frame(.reset, stream: stream, payload: word(code))
    }

    public static func goAway(lastStream: UInt32, code: UInt32) -> HTTP2Frame {
        HTTP2Frame(.goAway, payload: word(lastStream) + word(code))
    }

    public static func settings(_ values: [(UInt16, UInt32)] = []) -> HTTP2Frame {
        HTTP2Frame(
            .settings,
            payload: values.flatMap {
                [UInt8(truncatingIfNeeded: $0.0 >> 8), UInt8(truncatingIfNeeded: $0.0)]
                    + word($0.1)
            })
    }

    public static let settingsAcknowledgement = HTTP2Frame(.settings, flags: acknowledgement)

    public static func ping(_ payload: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]) -> HTTP2Frame {
        HTTP2Frame(.ping, payload: payload)
    }
}
