import AppAttestTesting
import EventLoop

/// The requests of a measurement, and its duration.
struct LoadPlan {
    let address: SocketAddress
    let connectionCount: Int
    /// The time that is not measured, while pools fill and caches warm up.
    let warmUp: Duration
    let duration: Duration
    let method: String
    let path: String
    let body: [UInt8]
    /// The signing; nil for unsigned requests.
    let signing: Signing?
    /// The number of requests a second that are sent whether or not earlier ones are answered. Nil
    /// if each connection waits for its answer and then sends at once.
    let rate: Int?
    /// The number of requests that are signed before any is sent if each connection sends at once.
    let aheadCount: Int
    /// The time after the measurement for which answers to its requests are awaited, at a fixed
    /// rate.
    let wait: Duration
    /// The server whose processor time is measured, if it runs on this machine.
    let processID: Int?

    struct Signing {
        let keys: SeededKeys
        let deviceCount: Int
        let appID: String
        /// The first counter of every device, above those of the run before.
        let firstCounter: UInt32
        /// The gateway's setting `endpoints.base`.
        let base: String
    }

    /// The number of requests that each connection signs before any is sent: at a fixed rate all of
    /// them, and a few more, because connections do not take turns exactly. Otherwise the load
    /// generator would sign while answers wait unread, and that would count as time of the server;
    /// a fast server would even wait for signatures.
    var stockPerConnection: Int {
        guard signing != nil else { return 0 }
        guard let rate else { return (aheadCount + connectionCount - 1) / connectionCount }
        let seconds = Int((warmUp + duration).components.seconds)
        return rate * seconds / connectionCount * 5 / 4 + 8
    }

    /// The devices of connection `index`. Each belongs to one connection, as real ones do.
    func devices(ofConnection index: Int) throws -> [SimulatedDevice] {
        guard let signing else { return [] }
        return try stride(from: index, to: signing.deviceCount, by: connectionCount).map {
            try signing.keys.device($0, appID: signing.appID, counter: signing.firstCounter)
        }
    }
}
