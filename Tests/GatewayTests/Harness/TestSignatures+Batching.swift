import Gateway
import GatewayTesting

extension TestSignatures {
    /// Also one signature alone goes the way of many, and no verdict is repeated.
    static var batching: SignatureBatching {
        library.map { .on($0, auditPercent: 0, laneCountMin: 1) } ?? .off
    }
}
