import AppAttestTesting
import EventLoop

/// What a measurement sends, and for how long.
struct LoadPlan {
    let address: SocketAddress
    let connectionCount: Int
    /// Not measured: pools fill, caches warm up.
    let warmUp: Duration
    let duration: Duration
    let method: String
    let path: String
    let body: [UInt8]
    /// Nil: requests go unsigned.
    let signing: Signing?
    /// The server whose processor time is measured, where it runs here.
    let processID: Int?

    struct Signing {
        let keys: SeededKeys
        let deviceCount: Int
        let appID: String
        /// What every device's counter starts from: above those of the run before.
        let firstCounter: UInt32
        /// `endpoints.base`.
        let base: String
    }

    /// Devices of connection `index`: each belongs to one connection, as in life.
    func devices(ofConnection index: Int) throws -> [SimulatedDevice] {
        guard let signing else { return [] }
        return try stride(from: index, to: signing.deviceCount, by: connectionCount).map {
            try signing.keys.device($0, appID: signing.appID, counter: signing.firstCounter)
        }
    }
}
