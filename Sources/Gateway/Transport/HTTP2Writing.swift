import EventLoop
import HTTP2
import TLS

extension HTTP2Endpoint {
    /// Frames are made for one write of about so much.
    static let writeByteCount = 64 * 1024

    enum WriteProgress {
        /// Everything that may be sent was.
        case all(byteCount: Int)
        /// The socket takes no more for now.
        case blocked(byteCount: Int)
        case broken
    }

    /// Makes frames of what was submitted, and writes them as far as the socket takes them.
    func write(to transport: Transport, atMost byteCountMax: Int) -> WriteProgress {
        var byteCount = 0
        let recordByteCount = TLSSession.recordByteCount
        while true {
            // What is left of a larger run goes first: made longer it would have to be moved.
            if outputByteCount < recordByteCount { fill(atMost: byteCountMax) }
            guard hasOutput else { return .all(byteCount: byteCount) }
            var runByteCount = outputByteCount
            // What does not fill another record waits for more.
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
