public import Bytes

/// SHA-256 of bytes that are all in memory.
public enum SHA256 {
    public static func hash(_ bytes: Span<UInt8>) -> Bytes32 {
        var state = SHA256State()
        state.update(bytes)
        return state.finish()
    }

    public static func hash(_ bytes: [UInt8]) -> Bytes32 { hash(bytes.span) }

    /// The hash of `first` followed by `second`, without joining them: App Attest's nonce.
    public static func hash(_ first: Span<UInt8>, _ second: Bytes32) -> Bytes32 {
        var state = SHA256State()
        state.update(first)
        state.update(second)
        return state.finish()
    }
}

/// SHA-256 of bytes that arrive piece by piece, such as a request's body.
public struct SHA256Stream: ~Copyable {
    private var state = SHA256State()

    public init() {}

    public mutating func update(_ bytes: Span<UInt8>) { state.update(bytes) }

    /// Returns the hash of all pieces so far. The next piece begins a new message.
    public mutating func finish() -> Bytes32 {
        let digest = state.finish()
        state = SHA256State()
        return digest
    }
}
