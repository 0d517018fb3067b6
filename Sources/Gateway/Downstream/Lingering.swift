import Bytes
import EventLoop
import TLS

/// The end of a client's connection after our side is shut. Bytes that still come are thrown away,
/// so that the client can read the answer before it sees a reset (RFC 9112 section 9.6).
struct Lingering {
    private var byteCount = 0

    /// Reads the bytes that have come. True once there is no reason to wait any longer.
    mutating func isOver(_ transport: Transport, storage: StoragePool) -> Bool {
        var scrap = ByteBuffer(pool: storage)
        switch transport.discard(into: &scrap, atMost: HTTP1Connection.readByteCount) {
        case .bytes(let count):
            byteCount += count
            return byteCount > Self.byteCountMax
        case .wouldBlock: return false
        case .endOfFile, .failed: return true
        }
    }

    static let timeout = Duration.seconds(2)
    private static let byteCountMax = 1024 * 1024
}
