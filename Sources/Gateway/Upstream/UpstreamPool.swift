import Bytes
import EventLoop
import HTTP
import Settings
import TLS

/// One worker's connections to one upstream: the idle ones to use again, and the count of all.
final class UpstreamPool {
    /// Not held: the worker owns whatever refers to it, and outlives it.
    unowned(unsafe) let worker: Worker
    let settings: UpstreamSettings
    /// Where the settings want TLS.
    let tls: TLSClientContext?
    let responseHeadLimits: HeadLimits
    /// Resolved when the configuration was loaded; index as in `settings.servers`.
    let addresses: [SocketAddress]
    private let addressTexts: [String]
    let connectNanoseconds: UInt64
    let responseNanoseconds: UInt64
    let idleNanoseconds: UInt64
    /// The newest last: it is used first, and the old ones age out.
    private var idle: [UpstreamConnection] = []
    private(set) var connectionCount = 0
    private var nextServer = 0
    /// Whether the configuration has left this upstream behind.
    private var isRetired = false

    init(
        worker: Worker, settings: UpstreamSettings, addresses: [SocketAddress],
        tls: TLSClientContext?, responseHeadLimits: HeadLimits
    ) {
        self.worker = worker
        self.settings = settings
        self.tls = tls
        self.addresses = addresses
        addressTexts = addresses.map(\.description)
        connectNanoseconds = settings.connectTimeout.wholeNanoseconds
        responseNanoseconds = settings.responseTimeout.wholeNanoseconds
        idleNanoseconds = settings.idleTimeout.wholeNanoseconds
        self.responseHeadLimits = responseHeadLimits
    }

    /// Whether connections of the one can serve requests of the other: a name may have come to
    /// stand for another address.
    func isInterchangeable(with other: UpstreamPool) -> Bool {
        settings == other.settings && addresses == other.addresses
            && responseHeadLimits == other.responseHeadLimits
    }

    /// An idle connection, or a new one to the next server in turn; nil at the limit.
    func lease(freshOnly: Bool) -> UpstreamConnection? {
        if !freshOnly, let connection = idle.popLast() {
            connection.isIdle = false
            return connection
        }
        if connectionCount >= settings.connectionCountMax {
            guard let oldest = idle.first else { return nil }
            oldest.close()
        }
        let server = nextServer
        nextServer = (nextServer + 1) % addresses.count
        connectionCount += 1
        return UpstreamConnection(
            pool: self, server: settings.servers[server], address: addresses[server],
            addressText: addressTexts[server])
    }

    /// Takes a connection back whose exchange is complete.
    func giveBack(_ connection: UpstreamConnection) {
        guard !isRetired, !worker.isDraining, idle.count < settings.idleConnectionCountMax else {
            connection.close()
            return
        }
        connection.isIdle = true
        idle.append(connection)
    }

    func connectionClosed(_ connection: UpstreamConnection) {
        connectionCount -= 1
        if connection.isIdle { idle.removeAll { $0 === connection } }
    }

    /// The configuration has left this upstream behind: idle connections end now, leased ones with
    /// their exchange.
    func retire() {
        isRetired = true
        closeIdle()
    }

    func closeIdle() {
        for connection in idle { connection.close() }
    }
}
