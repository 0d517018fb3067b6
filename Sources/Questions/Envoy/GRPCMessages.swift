import Bytes

/// Takes messages out of the body of a gRPC call. Before each are a byte that says if it is
/// compressed, and four bytes of its length.
public struct GRPCMessages: ~Copyable {
    private var buffer = ByteBuffer()
    private let byteCountMax: Int

    public static let prefixByteCount = 5

    public init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

    /// True if a part of a message is here.
    public var hasPart: Bool { !buffer.isEmpty }

    public mutating func append(_ bytes: Span<UInt8>) { buffer.append(bytes) }

    /// The next complete message; nil if more of it has to come.
    public mutating func next() throws(GRPCStatus) -> [UInt8]? {
        guard let count = try messageByteCount(), buffer.count >= Self.prefixByteCount + count
        else { return nil }
        let range = Self.prefixByteCount..<Self.prefixByteCount + count
        let message = buffer.readable.extracting(range).array
        buffer.consume(range.upperBound)
        // The storage of a long message is not kept for the short ones that follow.
        if buffer.isEmpty { buffer.clear(keepingAtMost: 8 * 1024) }
        return message
    }

    /// The length in the prefix, once it is here.
    private func messageByteCount() throws(GRPCStatus) -> Int? {
        let bytes = buffer.readable
        guard bytes.count >= Self.prefixByteCount else { return nil }
        guard bytes[0] == 0 else {
            throw GRPCStatus(.unimplemented, "no compression was agreed on")
        }
        let count = (1..<5).reduce(0) { $0 << 8 | Int(bytes[$1]) }
        guard count <= byteCountMax else {
            throw GRPCStatus(.resourceExhausted, "the message is longer than 4 MiB")
        }
        return count
    }

    /// `message` with its prefix.
    public static func framed(_ message: [UInt8]) -> [UInt8] {
        let count = UInt32(clamping: message.count)
        return [0] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + message
    }
}

/// The status with which a call ends.
public struct GRPCStatus: Error, Equatable, Sendable {
    public enum Code: UInt8, Sendable {
        case ok = 0
        case invalidArgument = 3
        case permissionDenied = 7
        case resourceExhausted = 8
        case failedPrecondition = 9
        case unimplemented = 12
        case `internal` = 13
        case unavailable = 14
    }

    public let code: Code
    /// A text in printable ASCII without `%`, as the header requires.
    public let message: String

    public init(_ code: Code, _ message: String = "") {
        self.code = code
        self.message = message
    }
}
