import EventLoop
import HTTP2

extension HTTP2Endpoint {
    enum WriteProgress {
        /// Everything that may be sent was.
        case all
        /// The socket takes no more for now.
        case blocked(hasProgress: Bool)
        case broken
    }

    /// Makes frames of what was submitted, and writes them as far as the socket takes them.
    func write(to transport: Transport, atMost byteCountMax: Int) -> WriteProgress {
        var hasProgress = false
        while true {
            fill(atMost: byteCountMax)
            guard hasOutput else { return .all }
            switch withOutput({ transport.write($0) }) {
            case .bytes(let count):
                outputWasSent(count)
                hasProgress = true
            case .wouldBlock: return .blocked(hasProgress: hasProgress)
            case .failed: return .broken
            }
        }
    }
}
