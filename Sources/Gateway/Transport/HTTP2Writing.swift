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
        while true {
            fill(atMost: byteCountMax)
            guard hasOutput else { return .all(byteCount: byteCount) }
            switch withOutput({ transport.write($0) }) {
            case .bytes(let count):
                outputWasSent(count)
                byteCount += count
            case .wouldBlock: return .blocked(byteCount: byteCount)
            case .failed: return .broken
            }
        }
    }
}
