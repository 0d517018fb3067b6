import JSON

/// A collector's answer to an export that it took.
public struct OTLPAnswer: Equatable, Sendable {
    /// Spans or data points that it has thrown away (`partial_success`).
    public let rejectedCount: UInt64
    /// Its words, on one line and short.
    public let message: String

    /// Reads an answer of OTLP's JSON encoding. What is no such answer has rejected nothing.
    public init(_ body: [UInt8]) {
        let value = try? JSONValue.parse(body.span, byteCountMax: Self.byteCountMax, depthMax: 8)
        let partial = value?["partialSuccess"]
        let count = partial?["rejectedSpans"] ?? partial?["rejectedDataPoints"]
        rejectedCount = count.flatMap(Self.number) ?? 0
        message = String(
            (partial?["errorMessage"]?.stringValue ?? "").prefix(Self.messageCharacterCountMax)
                .map { $0.isNewline ? " " : $0 })
    }

    /// 64-bit numbers are strings; readers are to take numbers as well.
    private static func number(_ value: JSONValue) -> UInt64? {
        switch value {
        case .integer(let number): UInt64(exactly: number)
        case .string(let text): UInt64(text)
        default: nil
        }
    }

    private static let byteCountMax = 64 * 1024
    private static let messageCharacterCountMax = 200
}
