import HTTP
import HTTP2

extension HTTP2Endpoint {
    /// Sends what waits, to a peer that takes everything.
    func sendAll() {
        for _ in 0..<64 {
            fill(atMost: 1024)
            guard hasOutput else { return }
            outputWasSent(withOutput { $0.count })
        }
    }
}

extension HeadLimits {
    /// For heads whose bounds HTTP/2 has seen to.
    static let wide = HeadLimits(
        headByteCountMax: 1 << 16, fieldCountMax: 1000, targetByteCountMax: 1 << 16)
}
