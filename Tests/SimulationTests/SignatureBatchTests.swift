import AppAttestTesting
import Attestation
import Bytes
import Crypto
import EventLoop
import GatewayTesting
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

/// Devices whose requests a gateway gets in one turn of its loop.
private final class Crowd {
    let gateway: SimulatedGateway
    private let devices: [SimulatedDevice]
    private let scratch: ScratchDirectory

    /// Every device has made a request, so that the gateway knows its key.
    init(count: Int, _ signatures: SignatureBatching) throws {
        scratch = try ScratchDirectory()
        let registry = SimulatedRegistry()
        let clock = ManualClock(
            now: MonotonicInstant(nanoseconds: 1_000_000_000), wallMilliseconds: 1_800_000_000_000)
        let counters = EmbeddedCounters(
            clock: EmbeddedClock(base: 0, boot: nil, nowMilliseconds: 1000))
        gateway = try SimulatedGateway(
            clock: clock, registry: registry, directory: scratch.path, embedded: counters,
            signatures: signatures
        ) { settings in
            for index in settings.routes.indices { settings.routes[index].onClientClose = .cancel }
        }
        devices = try (0..<count).map { _ in try SimulatedDevice(appID: SimulatedGateway.appID) }
        for device in devices {
            registry.insert(
                KeyRecord(
                    keyID: device.keyID, publicKey: device.publicKey, appID: device.appID,
                    environment: .production, enrolledAt: 1))
        }
        for index in devices.indices {
            let connection = try send(try request(of: index))
            while registry.waitingCount > 0 {
                registry.answer(0)
                step()
            }
            #expect(try answer(connection).status == 200)
        }
    }

    /// How many checks took `count` signatures at once.
    func batchCount(of count: Int) -> UInt64 { gateway.worker.services.meter.batchCount(of: count) }

    /// Requests that have reached the upstream.
    private(set) var upstreamCount = 0

    func step() {
        gateway.step(store: { nil }) { _ in
            upstreamCount += 1
            return true
        }
    }

    /// A request of a device, over a challenge of the gateway's.
    func request(of index: Int, isForged: Bool = false) throws -> [UInt8] {
        let fetching = try send(Array("GET /assert/challenge HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        let path = SimulatedGateway.strictPath
        let signed = try devices[index].sign(
            method: "POST", path: path, challenge: try answer(fetching).body,
            fault: isForged ? .otherClientData : nil)
        var text = "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n"
        for header in signed.headers { text += "\(header.name): \(header.value)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    /// Sends a request and lets the gateway do what it can.
    func send(_ request: [UInt8]) throws -> Int32 {
        let connection = try gateway.connect()
        _ = Socket.write(connection, request.span)
        step()
        return connection
    }

    /// Sends requests over as many connections before the gateway looks at any; those of `leaving`
    /// are closed at once.
    func sendTogether(_ requests: [[UInt8]], leaving: Set<Int> = []) throws -> [Int32] {
        let connections = try requests.map { _ in try gateway.connect() }
        for (connection, request) in zip(connections, requests) {
            _ = Socket.write(connection, request.span)
        }
        for index in leaving { Socket.close(connections[index]) }
        step()
        return connections
    }

    func answer(_ descriptor: Int32) throws -> WholeMessage {
        var taken = ByteBuffer()
        while case .bytes = Socket.read(descriptor, into: &taken, atMost: 1 << 16) {}
        Socket.close(descriptor)
        return try #require(WholeMessage(taken.readable.array))
    }
}

@Suite("Signatures of one turn", .timeLimit(.minutes(30)))
struct SignatureBatchTests {}

extension SignatureBatchTests {
    private func batching(
        _ library: MultiBufferLibrary? = nil, auditPercent: Int = 0
    ) throws -> SignatureBatching {
        .on(
            try library ?? TestSignatures.someLibrary(), auditPercent: auditPercent,
            laneCountMin: P256BatchVerifier.usualLaneCountMin)
    }

    @Test(
        "are verified eight at a time, the rest of fewer than three one by one",
        arguments: [
            (1, [1: 1]), (2, [1: 2]), (3, [3: 1]), (8, [8: 1]), (10, [8: 1, 1: 2]),
            (19, [8: 2, 3: 1]),
        ] as [(Int, [Int: UInt64])])
    func sizes(_ count: Int, _ expected: [Int: UInt64]) throws {
        let crowd = try Crowd(count: count, batching())
        let before = (1...8).map { crowd.batchCount(of: $0) }
        let requests = try (0..<count).map { try crowd.request(of: $0) }
        for connection in try crowd.sendTogether(requests) {
            #expect(try crowd.answer(connection).status == 200)
        }
        for lanes in 1...8 {
            #expect(crowd.batchCount(of: lanes) - before[lanes - 1] == expected[lanes] ?? 0)
        }
    }

    @Test(
        "that OpenSSL verifies are half of those that wait, at most 8, and all but 32 of the rest",
        // The loop takes 32 in its first turn. Of 96 it takes most in its third.
        arguments: [
            (12, [6, 3, 2, 1]), (42, [8, 8, 8, 8, 5, 3, 1, 1]),
            (96, [8, 8, 48, 8, 8, 8, 4, 2, 1, 1]),
        ] as [(Int, [Int])])
    func halves(_ count: Int, _ expected: [Int]) throws {
        let crowd = try Crowd(count: count, .off)
        let requests = try (0..<count).map { try crowd.request(of: $0) }
        let before = crowd.batchCount(of: 1)
        var checked: [Int] = []
        var turnEnd: TurnEndHook?
        turnEnd = TurnEndHook(loop: crowd.gateway.worker.services.loop) {
            let sum = checked.reduce(0, +)
            let more = Int(crowd.batchCount(of: 1) - before) - sum
            if more > 0 { checked.append(more) }
            if sum + more < count { turnEnd?.schedule() }
        }
        turnEnd?.schedule()
        for connection in try crowd.sendTogether(requests) {
            #expect(try crowd.answer(connection).status == 200)
        }
        turnEnd = nil
        #expect(checked == expected)
    }

    @Test("have each a verdict of its own", arguments: [true, false])
    func verdicts(isTogether: Bool) throws {
        let crowd = try Crowd(count: 8, isTogether ? batching() : .off)
        let before = crowd.batchCount(of: 1)
        for forged in 0..<8 {
            let requests = try (0..<8).map { try crowd.request(of: $0, isForged: $0 == forged) }
            let statuses = try crowd.sendTogether(requests).map { try crowd.answer($0).status }
            #expect(statuses == (0..<8).map { $0 == forged ? 401 : 200 })
        }
        #expect(crowd.batchCount(of: 8) == (isTogether ? 8 : 0))
        #expect(crowd.batchCount(of: 1) - before == (isTogether ? 0 : 64))
    }

    @Test("of one request sent eight times are valid, and it is accepted once", arguments: [8, 1])
    func replay(laneCount: Int) throws {
        let crowd = try Crowd(count: 1, laneCount == 8 ? batching() : .off)
        let before = crowd.batchCount(of: laneCount)
        let request = try crowd.request(of: 0)
        let connections = try crowd.sendTogether(Array(repeating: request, count: 8))
        let statuses = try connections.map { try crowd.answer($0).status }
        #expect(statuses.filter { $0 == 200 }.count == 1)
        #expect(statuses.filter { $0 == 409 || $0 == 401 }.count == 7)
        #expect(crowd.batchCount(of: laneCount) - before == UInt64(8 / laneCount))
    }

    @Test("of clients that leave before the turn ends are checked, and nobody is answered for them")
    func leaving() throws {
        for isTogether in [true, false] {
            let crowd = try Crowd(count: 8, isTogether ? batching() : .off)
            let requests = try (0..<8).map { try crowd.request(of: $0) }
            let connections = try crowd.sendTogether(requests, leaving: [2, 5])
            for (index, connection) in connections.enumerated() where ![2, 5].contains(index) {
                #expect(try crowd.answer(connection).status == 200)
            }
        }
    }

    @Test("of clients that have left while their requests lay unread are not checked")
    func leftUnread() throws {
        for isTogether in [true, false] {
            let crowd = try Crowd(count: 8, isTogether ? batching() : .off)
            let requests = try (0..<8).map { try crowd.request(of: $0) }
            let before = (1...8).map { crowd.batchCount(of: $0) }
            crowd.gateway.worker.services.backlog = Backlog { _ in Backlog.lateNanoseconds }
            let connections = try crowd.sendTogether(requests, leaving: [2, 5])
            let checked = (1...8).map { Int(crowd.batchCount(of: $0) - before[$0 - 1]) * $0 }
            #expect(checked.reduce(0, +) == 6)
            #expect(crowd.upstreamCount == 8 + 6)
            for (index, connection) in connections.enumerated() where ![2, 5].contains(index) {
                #expect(try crowd.answer(connection).status == 200)
            }
            // Nothing was spent on them: the same requests pass.
            crowd.gateway.worker.services.backlog = Backlog { _ in 0 }
            for connection in try crowd.sendTogether([requests[2], requests[5]]) {
                #expect(try crowd.answer(connection).status == 200)
            }
        }
    }

    @Test("are OpenSSL's once the library was wrong: nobody passes, and everybody is told")
    func distrusted() throws {
        let library = try StandInLibrary.open(.validForStrangers)
        let crowd = try Crowd(count: 8, batching(library, auditPercent: 100))
        let hub = crowd.gateway.worker.services.hub
        // The first full batch gives up its first lane.
        for forged in 1...2 {
            let requests = try (0..<8).map { try crowd.request(of: $0, isForged: $0 == forged) }
            let statuses = try crowd.sendTogether(requests).map { try crowd.answer($0).status }
            #expect(statuses == (0..<8).map { $0 == forged ? 401 : 200 })
        }
        #expect(!library.isTrusted)
        #expect(crowd.batchCount(of: 8) == 1)
        #expect(hub.logs.eventCounts["signature_library_distrusted"] == 1)
        let site = crowd.gateway.worker.services.site
        let problems = StatusInspection(
            hub: hub, site: site, now: 0, history: hub.history.withLock { $0 }
        ).problems
        #expect(problems.map(\.name).contains(.signatureLibrary))
    }

    @Test("that the library cannot judge are OpenSSL's and counted, and in the end it is not asked")
    func undecided() throws {
        let library = try StandInLibrary.open(.unknownForStrangers)
        let crowd = try Crowd(count: 8, batching(library))
        let hub = crowd.gateway.worker.services.hub
        for round in 1...9 {
            let requests = try (0..<8).map { try crowd.request(of: $0) }
            for connection in try crowd.sendTogether(requests) {
                #expect(try crowd.answer(connection).status == 200)
            }
            let count = crowd.gateway.worker.services.meter.value(.signaturesUndecided)
            #expect(count == UInt64(8 * min(round, 8)))
        }
        #expect(crowd.batchCount(of: 8) == 8)
        #expect(hub.logs.eventCounts["signature_library_distrusted"] == 1)
        #expect(
            hub.logs.lastMessage(of: "signature_library_distrusted")?.hasSuffix(
                "could not judge any of 64 signatures in a row: signatures are verified one at a "
                    + "time until the gateway restarts") == true)
    }
}
