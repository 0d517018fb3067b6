import EventLoop
import HTTP2
import TLS

extension HTTP2Endpoint {
    /// The number of bytes for which frames are made for one write.
    static let writeByteCount = 64 * 1024

    enum WriteProgress {
        /// All frames that may be sent were written.
        case all(byteCount: Int)
        /// The socket takes no more for now.
        case blocked(byteCount: Int)
        case broken
    }

    /// Makes frames of the submitted data, and writes them as far as the socket takes them.
    func write(to transport: Transport, atMost byteCountMax: Int) -> WriteProgress {
        var byteCount = 0
        let recordByteCount = TLSSession.recordByteCount
        while true {
            // The rest of a larger run goes first, because it would have to be moved to be
            // extended.
            if outputByteCount < recordByteCount { fill(atMost: byteCountMax) }
            guard hasOutput else { return .all(byteCount: byteCount) }
            var runByteCount = outputByteCount
            // Bytes that do not fill another record wait for more.
            if transport.isTLS, runByteCount > recordByteCount {
                runByteCount -= runByteCount % recordByteCount
            }
            switch withOutput({ transport.write($0.extracting(first: runByteCount)) }) {
            case .bytes(let count):
                outputWasSent(count)
                byteCount += count
            case .wouldBlock: return .blocked(byteCount: byteCount)
            case .failed: return .broken
            }
        }
    }
}
