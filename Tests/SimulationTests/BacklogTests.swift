import AppAttestTesting
import Attestation
import Bytes
import EventLoop
import GatewayTesting
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

/// A gateway whose requests have waited in the kernel as long as a test says.
private final class BusyGateway {
    let clock = ManualClock(
        now: MonotonicInstant(nanoseconds: 1_000_000_000), wallMilliseconds: 1_800_000_000_000)
    let gateway: SimulatedGateway
    private let scratch: ScratchDirectory
    private var waited: UInt64 = 0
    private(set) var upstreamCount = 0
    private let device: SimulatedDevice

    init(_ configure: (inout Settings) -> Void = { _ in }) throws {
        scratch = try ScratchDirectory()
        let registry = SimulatedRegistry()
        device = try SimulatedDevice(appID: SimulatedGateway.appID)
        registry.insert(
            KeyRecord(
                keyID: device.keyID, publicKey: device.publicKey, appID: device.appID,
                environment: .production, enrolledAt: 1))
        gateway = try SimulatedGateway(
            clock: clock, registry: registry, directory: scratch.path,
            embedded: EmbeddedCounters(
                clock: EmbeddedClock(base: 0, boot: nil, nowMilliseconds: 1000)),
            configure: configure)
        gateway.worker.services.backlog = Backlog { [unowned self] _ in waited }
        // The gateway gets to know the key.
        let connection = try send(try signed())
        while registry.waitingCount > 0 {
            registry.answer(0)
            step()
        }
        #expect(try answer(connection)?.status == 200)
    }

    func step(waited duration: Duration) {
        waited = duration.wholeNanoseconds
        step()
        waited = 0
    }

    func step() {
        gateway.step(store: { nil }) { _ in
            upstreamCount += 1
            return true
        }
    }

    func signed() throws -> [UInt8] {
        let fetching = try send(Array("GET /assert/challenge HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        let challenge = try #require(try answer(fetching)).body
        let path = SimulatedGateway.strictPath
        let signed = try device.sign(method: "POST", path: path, challenge: challenge)
        var text = "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n"
        for header in signed.headers { text += "\(header.name): \(header.value)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    /// Sends a request that the worker reads after so long, on a connection of its own.
    ///
    /// - Parameter isLast: whether the client sends no more.
    func send(
        _ request: [UInt8], waited duration: Duration = .zero, isLast: Bool = false
    ) throws -> Int32 {
        let connection = try gateway.connect()
        _ = Socket.write(connection, request.span)
        if isLast { Socket.shutdownWrite(connection) }
        waited = duration.wholeNanoseconds
        step()
        waited = 0
        return connection
    }

    func pass(_ duration: Duration) { clock.now = clock.now + duration }

    /// What has come for a client; nil for nothing.
    func answer(_ descriptor: Int32) throws -> WholeMessage? {
        var taken = ByteBuffer()
        while case .bytes = Socket.read(descriptor, into: &taken, atMost: 1 << 16) {}
        Socket.close(descriptor)
        return WholeMessage(taken.readable.array)
    }

    /// The status of a request that was read after so long.
    func status(after duration: Duration, request: [UInt8]? = nil) throws -> Int? {
        try answer(try send(try request ?? signed(), waited: duration))?.status
    }
}

@Suite("Requests that wait to be read", .timeLimit(.minutes(30)))
struct BacklogTests {
    private let late = Duration.milliseconds(501)
}

extension BacklogTests {
    @Test("are refused once the worker has been behind for the bound, with nothing spent on them")
    func refused() throws {
        let busy = try BusyGateway()
        // Held up once: what has come meanwhile is served.
        #expect(try busy.status(after: late) == 200)
        busy.pass(.milliseconds(499))
        #expect(try busy.status(after: late) == 200)
        busy.pass(.milliseconds(1))
        let request = try busy.signed()
        let served = busy.upstreamCount
        let answer = try #require(try busy.answer(try busy.send(request, waited: late)))
        #expect(answer.status == 503)
        #expect(answer.field("retry-after") == "1")
        #expect(answer.body.contains("\"code\":\"gateway_busy\""))
        #expect(answer.body.contains("\"action\":\"retry_later\""))
        #expect(busy.upstreamCount == served)
        // Neither the counter nor the challenge was used.
        #expect(try busy.status(after: .zero, request: request) == 200)
        // Others are served meanwhile.
        #expect(try busy.status(after: .milliseconds(500)) == 200)
    }

    @Test("are served again as soon as they do not wait so long, and after a pause as at first")
    func recovered() throws {
        let busy = try BusyGateway()
        for _ in 0..<2 {
            #expect(try busy.status(after: late) == 200)
            busy.pass(.milliseconds(499))
            #expect(try busy.status(after: late) == 200)
            busy.pass(.milliseconds(499))
            #expect(try busy.status(after: late) == 503)
            #expect(try busy.status(after: .zero) == 200)
            busy.pass(.milliseconds(500))
        }
    }

    @Test("are served however late they are if timeouts.backlog is off")
    func off() throws {
        let busy = try BusyGateway { $0.timeouts.backlog = .zero }
        for _ in 0..<10 {
            #expect(try busy.status(after: .seconds(60)) == 200)
            busy.pass(.milliseconds(499))
        }
    }

    @Test("leave no trace upstream if their client has left and the route says cancel")
    func left() throws {
        for finishes in [false, true] {
            let busy = try BusyGateway { settings in
                for index in settings.routes.indices {
                    settings.routes[index].onClientClose = finishes ? .finish : .cancel
                }
            }
            let request = try busy.signed()
            let before = busy.upstreamCount
            let connection = try busy.send(request, waited: .milliseconds(50), isLast: true)
            #expect(busy.upstreamCount == before + (finishes ? 1 : 0))
            #expect(try busy.answer(connection)?.status == (finishes ? 200 : nil))
            // The counter was not used.
            #expect(try busy.status(after: .zero, request: request) == (finishes ? 401 : 200))
        }
    }

    @Test("are served after any time that they have waited for room among the connections")
    func pausedListener() throws {
        let busy = try BusyGateway { $0.limits.connectionCountMax = 1 }
        let worker = busy.gateway.worker
        let scratch = try ScratchDirectory()
        let address = try #require(SocketAddress.unix(scratch.path + "/clients"))
        let descriptor = try Socket.listen(on: address)
        worker.open([BoundListener(context: worker.services.idleListener, descriptor: descriptor)])
        let request = Array("GET /assert/challenge HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        var clients: [Int32] = []
        for _ in 0..<4 {
            guard case .connected(let client) = Socket.connect(to: address) else { continue }
            clients.append(client)
        }
        try #require(clients.count == 4)
        busy.step()
        for client in clients { _ = Socket.write(client, request.span) }
        for client in clients {
            // The others have waited for the place of the one before, each as long as that took.
            busy.step(waited: .seconds(5))
            #expect(try busy.answer(client)?.status == 200)
            busy.pass(.milliseconds(499))
        }
    }
}
