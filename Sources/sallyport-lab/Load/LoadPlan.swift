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
    /// The signing, or nil for unsigned requests.
    let signing: Signing?
    /// Requests a second that are sent whether or not earlier ones are answered; nil where each
    /// connection waits for its answer and sends at once.
    let rate: Int?
    /// How long after the measured time answers are awaited to what was due in it, at a fixed rate.
    let wait: Duration
    /// The server whose processor time is measured, where it runs here.
    let processID: Int?

    struct Signing {
        let keys: SeededKeys
        let deviceCount: Int
        let appID: String
        /// The first counter of every device: above those of the run before.
        let firstCounter: UInt32
        /// `endpoints.base`.
        let base: String
    }

    /// How many requests each connection signs before any is sent: at a fixed rate all of them, and
    /// a few more, because connections do not take turns exactly. The load generator would sign
    /// while answers lie unread, and that would count as time that the server took.
    var stockPerConnection: Int {
        guard let rate, signing != nil else { return 0 }
        let seconds = Int((warmUp + duration).components.seconds)
        return rate * seconds / connectionCount * 5 / 4 + 8
    }

    /// Devices of connection `index`: each belongs to one connection, as in life.
    func devices(ofConnection index: Int) throws -> [SimulatedDevice] {
        guard let signing else { return [] }
        return try stride(from: index, to: signing.deviceCount, by: connectionCount).map {
            try signing.keys.device($0, appID: signing.appID, counter: signing.firstCounter)
        }
    }
}
