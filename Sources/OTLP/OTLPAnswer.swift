import JSON

/// A collector's answer to an export that it took.
public struct OTLPAnswer: Equatable, Sendable {
    /// The number of spans or data points that it has thrown away (`partial_success`).
    public let rejectedCount: UInt64
    /// The collector's message, on one line and short.
    public let message: String

    /// Parses an answer in OTLP's JSON encoding. Any other answer counts as rejecting nothing.
    public init(_ body: [UInt8]) {
        let value = try? JSONValue.parse(body.span, byteCountMax: Self.byteCountMax, depthMax: 8)
        let partial = value?["partialSuccess"]
        let count = partial?["rejectedSpans"] ?? partial?["rejectedDataPoints"]
        rejectedCount = count.flatMap(Self.number) ?? 0
        message = String(
            (partial?["errorMessage"]?.stringValue ?? "").prefix(Self.messageCharacterCountMax)
                .map { $0.isNewline ? " " : $0 })
    }

    /// Parses a number. 64-bit numbers are strings, but readers must accept numbers as well.
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
