import AppAttestTesting
import Attestation
import Bytes
import Crypto
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Testing

@testable import RedisKeyStore

/// Which parts of the real thing a simulation has left out, for a canary.
enum Canary: CaseIterable {
    case nothing
    case noIncarnation
    case readThenWrite
    case checkBeforeSignature
    /// The store forgets which challenges phones have spent.
    case noPhoneMarks
    /// Embedded counters go on from the last clean stop, whatever happened since.
    case oldSnapshot
}

/// Which counter store the gateways of a simulation have.
enum StoreKind: CaseIterable {
    /// One that two gateways share.
    case redis
    /// One inside the only gateway there is.
    case embedded
}

/// Two gateways, a store, an upstream, devices and somebody who keeps every request: everything
/// that happens follows from one seed.
final class World {
    private enum Purpose {
        case challenge(device: Int)
        case request(Int)
    }

    private struct Call {
        let gateway: Int
        let descriptor: Int32
        let purpose: Purpose
        var received: [UInt8] = []
    }

    /// The first two, one of each platform, are never revoked.
    private static let deviceCount = 4
    private static let expendableDevices = 2..<deviceCount

    var random: SeededNumbers
    private let kind: StoreKind
    private let canary: Canary
    private let scratch: ScratchDirectory
    private let registry = SimulatedRegistry()
    private var lifeCount = 0
    private var gateways: [SimulatedGateway] = []
    private var clocks: [ManualClock] = []
    /// Milliseconds of the store's own clock.
    private var storeNow: Int64 = 1_000_000

    private var names = NameSource()
    private var servers: [StoreProcess] = []
    private var dumps: [StoreData] = []
    /// The server that each gateway finds under the store's name; nil for none.
    private var found: [Int?] = [0, 0]
    /// What the last clean stop of embedded counters has kept.
    private var snapshot: EmbeddedSnapshot?

    private let devices: [TestDevice]
    /// The challenge that each device would sign next.
    private var challenges: [String?]
    private var requests: [[UInt8]] = []
    private var calls: [Call] = []
    private(set) var ledger: Ledger
    /// One line a step: two runs of a seed write the same.
    private(set) var trace: [String] = []

    init(seed: UInt64, _ kind: StoreKind, canary: Canary = .nothing) throws {
        random = SeededNumbers(seed: seed)
        self.kind = kind
        self.canary = canary
        scratch = try ScratchDirectory()
        ledger = Ledger(deviceCount: Self.deviceCount, seesStore: kind == .redis)
        devices = try (0..<Self.deviceCount).map { try .numbered($0) }
        challenges = Array(repeating: nil, count: Self.deviceCount)
        for device in devices { registry.insert(device.record) }
        let lack: StoreProcess.Lack =
            switch canary {
            case .noIncarnation: .incarnation
            case .readThenWrite: .atomicity
            case .noPhoneMarks: .phoneMarks
            case .nothing, .checkBeforeSignature, .oldSnapshot: .nothing
            }
        servers = [
            StoreProcess(named: &names, isMaster: true, lack: lack),
            StoreProcess(named: &names, isMaster: false, lack: lack),
        ]
        for index in 0..<(kind == .redis ? 2 : 1) {
            let clock = ManualClock(
                now: MonotonicInstant(nanoseconds: 1_000_000_000),
                wallMilliseconds: 1_800_000_000_000)
            clocks.append(clock)
            gateways.append(try startGateway(index))
        }
    }

    deinit {
        for call in calls { Socket.close(call.descriptor) }
    }

    private func startGateway(_ index: Int) throws -> SimulatedGateway {
        lifeCount += 1
        let directory = scratch.path(of: String(lifeCount))
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)
        return try SimulatedGateway(
            clock: clocks[index], registry: registry, directory: directory,
            embedded: kind == .embedded ? openCounters(clocks[index]) : nil)
    }

    /// As a start of the program does: what a clean stop left behind counts once.
    private func openCounters(_ clock: ManualClock) -> EmbeddedCounters {
        let kept = snapshot
        if canary != .oldSnapshot { snapshot = nil }
        return EmbeddedCounters(
            resuming: kept, clock: EmbeddedClock(clock))
    }

    // MARK: running

    /// `count` steps of anything, then peace, in which every device must be served again.
    func run(stepCount: Int) throws {
        for _ in 0..<stepCount where ledger.violations.isEmpty { try stepOnce() }
        try makePeace()
    }

    private func stepOnce() throws {
        switch random.below(100) {
        case 0..<24: try callForDevice()
        case 24..<32: try replay()
        case 32..<35: try forge()
        case 35..<52: runStore()
        case 52..<68: deliver()
        case 68..<76: answerRegistry()
        case 76..<86: catchUp()
        case 86..<90: passTime()
        case 90..<95: disturbStore()
        default: try disturbGateway()
        }
        settle()
    }

    /// Lets both gateways do what they can.
    private func settle() {
        for index in gateways.indices { step(index) }
        collectAnswers()
    }

    private func step(_ index: Int) {
        let loses = random.isOne(in: 40)
        gateways[index].step(
            store: { found[index].map { servers[$0] } },
            upstream: { body in
                reachedUpstream(body)
                return !loses
            })
    }

    private func reachedUpstream(_ body: String) {
        guard let index = Int(body) else {
            ledger.violated("an unknown body reached the upstream")
            return
        }
        ledger.forwarded(index)
        trace.append("upstream \(index)")
    }

    // MARK: devices and whoever listens

    private func callForDevice() throws {
        let device = random.below(devices.count)
        let gateway = random.below(gateways.count)
        guard let challenge = challenges[device], !random.isOne(in: 8) else {
            try fetchChallenge(device, from: gateway)
            return
        }
        // Some apps sign twice with one challenge, or keep it for later.
        if !random.isOne(in: 6) { challenges[device] = nil }
        try send(try sign(device, challenge), to: gateway)
    }

    private func fetchChallenge(_ device: Int, from gateway: Int) throws {
        let head = "GET /assert/challenge HTTP/1.1\r\nHost: a\r\n\r\n"
        try call(gateway, .challenge(device: device), Array(head.utf8))
    }

    private func sign(
        _ index: Int, _ challenge: String, isForged: Bool = false
    ) throws -> Int {
        let device = devices[index]
        let isWindowed = random.isOne(in: 2)
        let path = isWindowed ? SimulatedGateway.windowPath : SimulatedGateway.strictPath
        let body = String(ledger.signed.count)
        let signed = try device.sign(
            method: "POST", path: path, body: Array(body.utf8), challenge: challenge,
            isForged: isForged)
        var text = "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n"
        for header in signed.headers { text += "\(header.name): \(header.value)\r\n" }
        requests.append(Array((text + "\r\n" + body).utf8))
        return ledger.add(
            Ledger.Signed(
                device: index, uniqueness: Self.uniqueness(of: signed, by: device),
                challenge: challenge, isForged: isForged))
    }

    /// What the gateway should find that makes the request unrepeatable.
    private static func uniqueness(
        of request: SignedRequest, by device: TestDevice
    ) -> Uniqueness {
        if let apple = device.apple { return .counter(apple.counter) }
        let digest = SHA256.hash(request.clientData)
        return .challenge(mark: UInt32(truncatingIfNeeded: digest.word0))
    }

    private func replay() throws {
        guard !requests.isEmpty else { return }
        // What is recent is most likely to be in flight.
        let reach = random.isOne(in: 2) ? min(requests.count, 6) : requests.count
        let index = requests.count - 1 - random.below(reach)
        try send(index, to: random.below(gateways.count))
    }

    private func forge() throws {
        let index = random.below(devices.count)
        guard let challenge = challenges[index] else { return }
        let apple = devices[index].apple
        let real = apple?.counter ?? 0
        apple?.counter = real &+ 1_000_000
        defer { apple?.counter = real }
        let forged = try sign(index, challenge, isForged: true)
        if canary == .checkBeforeSignature, apple != nil {
            spendUnverified(index, real &+ 1_000_001)
        }
        try send(forged, to: random.below(gateways.count))
    }

    /// What a gateway would do that advanced the counter first and verified afterwards.
    private func spendUnverified(_ device: Int, _ counter: UInt32) {
        guard let server = servers.first(where: \.isMaster), let record = server.data.record
        else { return }
        let name = "sallyport:{\(Base64.encodeURL(devices[device].keyID.digest.array))}"
        let call = StoreProcess.Call(
            revocation: "\(name):revoked", device: "\(name):counter",
            spent: "forged \(counter)", incarnation: record.incarnation, counter: counter,
            windowSize: 1, floor: 0, expiresAt: storeNow + 1000, graceMilliseconds: 0,
            notedTime: 0)
        if let finding = server.check(call, now: storeNow) { server.write(finding, of: call) }
    }

    private func send(_ index: Int, to gateway: Int) throws {
        ledger.sent(index)
        trace.append("send \(index) to \(gateway)")
        try call(gateway, .request(index), requests[index])
    }

    private func call(_ gateway: Int, _ purpose: Purpose, _ bytes: [UInt8]) throws {
        let descriptor = try gateways[gateway].connect()
        calls.append(Call(gateway: gateway, descriptor: descriptor, purpose: purpose))
        #expect(Socket.write(descriptor, bytes.span) == .bytes(bytes.count))
    }

    private func collectAnswers() {
        var open: [Call] = []
        for var call in calls {
            var chunk = ByteBuffer()
            var isEnded = false
            reading: while true {
                switch Socket.read(call.descriptor, into: &chunk, atMost: 1 << 16) {
                case .bytes: continue
                case .wouldBlock: break reading
                case .endOfFile, .failed:
                    isEnded = true
                    break reading
                }
            }
            call.received += chunk.readable.array
            if let answer = WholeMessage(call.received) {
                take(answer, call.purpose)
                isEnded = true
            }
            if isEnded { Socket.close(call.descriptor) } else { open.append(call) }
        }
        calls = open
    }

    private func take(_ answer: WholeMessage, _ purpose: Purpose) {
        switch purpose {
        case .challenge(let device):
            trace.append("challenge \(device) \(answer.status)")
            if answer.status == 200 { challenges[device] = answer.body }
        case .request(let index):
            let code = Self.code(answer)
            trace.append("answer \(index) \(answer.status) \(code ?? "")")
            ledger.answered(index, status: answer.status, code: code)
            if let next = answer.field("x-app-attest-challenge") {
                challenges[ledger.signed[index].device] = next
            }
        }
    }

    private static func code(_ answer: WholeMessage) -> String? {
        guard let start = answer.body.range(of: "\"code\":\"") else { return nil }
        return String(answer.body[start.upperBound...].prefix { $0 != "\"" })
    }

    // MARK: the store and its network

    private var storeConnections: [StoreConnection] { gateways.flatMap(\.storeConnections) }

    private func runStore() {
        let waiting = storeConnections.filter(\.isWaiting)
        guard !waiting.isEmpty else { return }
        run(waiting[random.below(waiting.count)])
    }

    private func run(_ connection: StoreConnection) {
        guard !connection.isStale else { return connection.close() }
        connection.run(now: storeNow) { call in
            guard
                let device = devices.firstIndex(where: {
                    call.device.contains(Base64.encodeURL($0.keyID.digest.array))
                })
            else { return }
            ledger.storeAccepted(device: device, mark: call.counter)
            // A phone's mark is not the same in the seed's next run.
            let counter = devices[device].apple.map { _ in " \(call.counter)" } ?? ""
            trace.append("accepted \(device)\(counter)")
        }
    }

    private func deliver() {
        let answering = storeConnections.filter(\.hasReplies)
        guard !answering.isEmpty else { return }
        let connection = answering[random.below(answering.count)]
        switch random.below(12) {
        case 0: connection.close()
        case 1:
            connection.deliver(atMost: 1 + random.below(6))
            if random.isOne(in: 2) { connection.close() }
        default: connection.deliver()
        }
    }

    /// The network is quick for a moment: everything on its way arrives.
    private func catchUp() {
        settle()
        for connection in storeConnections {
            while connection.isWaiting { run(connection) }
            connection.deliver()
        }
        while registry.waitingCount > 0 { registry.answer(0) }
        settle()
    }

    private func answerRegistry() {
        let count = registry.waitingCount
        if count > 0 { registry.answer(random.below(count)) }
    }

    private func passTime() {
        let milliseconds: Int64 =
            switch random.below(10) {
            case 0: 130_000
            case 1: 10_000
            case 2...4: 600
            default: 20
            }
        storeNow += milliseconds
        for clock in clocks {
            clock.now = clock.now.advanced(byNanoseconds: UInt64(milliseconds) * 1_000_000)
            clock.wallMilliseconds += milliseconds
        }
        // Gateways disagree about the time of day, within what is allowed.
        if clocks.count == 2, random.isOne(in: 4) {
            clocks[1].wallMilliseconds =
                clocks[0].wallMilliseconds + Int64(random.below(8_000)) - 4_000
        }
        trace.append("time \(milliseconds)")
    }

    private func disturbStore() {
        let index = random.below(servers.count)
        let server = servers[index]
        let fault = random.below(12)
        trace.append("store \(index) fault \(fault)")
        switch fault {
        case 0: server.restart(&names, with: StoreData())
        case 1:
            guard !dumps.isEmpty else { return }
            server.restart(&names, with: dumps[random.below(dumps.count)])
        case 2: if server.isMaster { server.flush() }
        case 3: dumps.append(server.data)
        case 4: if !server.isMaster { server.promote(&names) }
        case 5: server.demote()
        case 6, 7:
            // Replication catches up.
            let other = servers[1 - index]
            if !server.isMaster, other.isMaster { server.follow(other) }
        default:
            // Names follow the master, or what somebody takes for it.
            let master = random.isOne(in: 4) ? index : servers.firstIndex(where: \.isMaster)
            found[random.below(found.count)] = random.isOne(in: 8) ? nil : master
        }
        for connection in storeConnections where connection.isStale && !random.isOne(in: 3) {
            connection.close()
        }
    }

    private func disturbGateway() throws {
        let index = random.below(gateways.count)
        switch random.below(12) {
        case 0..<3:
            trace.append("kill \(index)")
            try restart(index)
        case 3..<5:
            trace.append("stop \(index)")
            snapshot = gateways[index].counters?.snapshot(
                nowMilliseconds: EmbeddedClock(clocks[index]).nowMilliseconds)
            try restart(index)
        case 5..<7: registry.setFailing(random.isOne(in: 2))
        case 7: try revoke()
        default:
            // A client gives up.
            guard !calls.isEmpty else { return }
            Socket.close(calls.remove(at: random.below(calls.count)).descriptor)
        }
    }

    private func restart(_ index: Int) throws {
        for call in calls where call.gateway == index { Socket.close(call.descriptor) }
        calls.removeAll { $0.gateway == index }
        gateways[index] = try startGateway(index)
    }

    private func revoke() throws {
        let device =
            Self.expendableDevices.lowerBound + random.below(Self.expendableDevices.count)
        trace.append("revoke \(device)")
        registry.revoke(devices[device].keyID)
        let layout = RedisKeyLayout(prefix: "sallyport:")
        let mark = layout.revoked(devices[device].keyID)
        for server in servers where server.isMaster {
            server.mark(revoked: String(decoding: mark, as: UTF8.self))
        }
        settle()
        // A lookup that was answered before may still lie in a queue: it is as old as the cache.
        while registry.waitingCount > 0 { registry.answer(0) }
        settle()
        ledger.revokedForGood(device)
    }

    // MARK: peace

    /// Ends all faults and lets everything go on; then every device must be served.
    private func makePeace() throws {
        trace.append("peace")
        registry.setFailing(false)
        let master = servers.firstIndex(where: \.isMaster) ?? 0
        if !servers[master].isMaster { servers[master].promote(&names) }
        found = found.map { _ in master }
        for connection in storeConnections where connection.server !== servers[master] {
            connection.close()
        }
        for _ in 0..<12 { calmly() }
        try replayAll()
        for device in devices.indices where !ledger.isRevoked(device) {
            for gateway in gateways.indices where ledger.violations.isEmpty {
                try requireService(device, gateway)
            }
        }
    }

    private func calmly() {
        storeNow += 700
        for clock in clocks { clock.now = clock.now.advanced(byNanoseconds: 700_000_000) }
        for _ in 0..<4 { catchUp() }
    }

    /// Whoever captured them sends all requests once more, to both gateways.
    private func replayAll() throws {
        for index in requests.indices {
            for gateway in gateways.indices { try send(index, to: gateway) }
            catchUp()
            catchUp()
        }
    }

    /// The client signs again as often as it is told to, which must not be often.
    private func requireService(_ device: Int, _ gateway: Int) throws {
        let before = ledger.forwardedCount
        challenges[device] = nil
        for _ in 0..<4 {
            if challenges[device] == nil {
                try fetchChallenge(device, from: gateway)
                calmly()
            }
            guard let challenge = challenges[device] else { continue }
            challenges[device] = nil
            try send(try sign(device, challenge), to: gateway)
            calmly()
            if ledger.forwardedCount > before { return }
        }
        ledger.violated("device \(device) is not served by gateway \(gateway) in peace")
    }
}

extension EmbeddedClock {
    /// Of a machine that never boots.
    init(_ clock: ManualClock) {
        let monotonic = Int64(clock.now.nanoseconds / 1_000_000)
        self.init(
            base: clock.wallMilliseconds - monotonic, boot: Bytes16(word0: 1, word1: 2),
            nowMilliseconds: monotonic)
    }
}
