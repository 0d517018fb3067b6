import AppAttest
import AppAttestTesting
import Attestation
import Background
import Bytes
import Crypto
import EventLoop
import GatewayTesting
import KeyStore
import SQLiteKeyStore
import Settings
import Testing

/// An Apple in this process that answers as a test says.
private final class ScriptedExchange: ReceiptExchange {
    let inFlightCountMax = 4
    private let loop: EventLoop
    private var timers: [Timer] = []
    var answer: (ReceiptGroup) -> ReceiptAnswer = { _ in .other(.notFound) }
    private(set) var groups: [ReceiptGroup] = []

    init(_ loop: EventLoop) { self.loop = loop }

    func hasKey(ofTeam teamID: String) -> Bool { teamID == "ABCDE12345" }

    func exchange(
        _ receipt: [UInt8], of group: ReceiptGroup, handler: @escaping (ReceiptAnswer) -> Void
    ) {
        groups.append(group)
        let answer = answer(group)
        let timer = Timer(loop: loop) { handler(answer) }
        timer.schedule(after: .milliseconds(1))
        timers.append(timer)
    }
}

private struct Silence: EventLog {
    func event(level: StaticString, _ name: StaticString, _ message: String) {}
    func leftOut(_ name: StaticString, isOwed: Bool) {}
}

/// The driver on a real loop and a real registry, with real receipts.
@Suite("Renewing receipts", .timeLimit(.minutes(30)))
final class ReceiptRenewalTests {
    private static let appID = "ABCDE12345.com.example.app"
    private static let apple = Result {
        try SimulatedApple(around: WallClock.now().seconds)
    }

    private let apple: SimulatedApple
    private let device: SimulatedDevice
    private let directory: ScratchDirectory
    private let now = WallClock.now().seconds

    init() throws {
        apple = try Self.apple.get()
        device = try SimulatedDevice(appID: Self.appID)
        directory = try ScratchDirectory()
    }
}

extension ReceiptRenewalTests {
    private func receipt(
        _ kind: ReceiptFields.Kind = .receipt, appID: String = appID, metric: UInt32? = 7,
        environment: AttestEnvironment = .production, key: [UInt8]? = nil, age: Int64 = 0
    ) throws -> [UInt8] {
        try apple.receipt(
            SimulatedReceipt(
                kind: kind, appID: appID, attestedKey: key ?? device.publicKey.x963,
                clientHash: [], environment: environment, createdAt: now - age,
                riskMetric: metric))
    }

    /// The record after the answer to its receipt, which came with its attestation.
    private func renew(
        _ answer: ReceiptAnswer, expiresIn seconds: Int64 = 1000
    ) throws -> (KeyRecord, RenewalMeter) {
        let path = directory.path(of: "registry.db")
        let administration = try SQLiteAdministration(path: path, createsIfMissing: true)
        var record = KeyRecord(
            keyID: device.keyID, publicKey: device.publicKey, appID: Self.appID,
            environment: .production, enrolledAt: now - 60)
        record.receipt = [1]
        record.receiptState = ReceiptState(
            kind: .attest, createdAt: now - 60, expiresAt: now + seconds, dueAt: now - 60)
        let load = administration.beginImport()
        try load.add(record)
        _ = try load.finish()
        let registry = try SQLiteRegistry(path: path)
        var settings = Settings()
        settings.apps = [AppIdentity(id: Self.appID, environments: [.production])]
        settings.receipts.rate = .init(count: 500, period: .second)
        let configuration = RenewalConfiguration(
            settings: settings,
            verifier: ReceiptVerifier(roots: [try Certificate(der: apple.receiptRoot.der)]),
            schedule: ReceiptSchedule(settings.receipts))
        let meter = RenewalMeter()
        let loop = try EventLoop()
        let exchange = ScriptedExchange(loop)
        exchange.answer = { _ in answer }
        let renewal = try ReceiptRenewal(
            loop: loop, registry: registry, meter: meter, log: Silence(), configuration,
            exchange: exchange)
        // The answer is counted before it is written, and the stop writes what is not.
        let timer = Timer(loop: loop) {
            guard RenewalOutcome.allCases.contains(where: { meter.value($0) > 0 })
            else { return }
            renewal.stop()
            loop.stop()
        }
        timer.scheduleRepeating(every: .milliseconds(5))
        loop.run()
        registry.close()
        #expect(exchange.groups == [ReceiptGroup(appID: Self.appID, environment: .production)])
        #expect(!meter.holdsLease)
        return (try #require(try administration.find(device.keyID)), meter)
    }

    @Test("a new receipt that verifies is kept, with its metric and its next renewal")
    func renewed() throws {
        let receipt = try receipt()
        let (record, meter) = try renew(.receipt(receipt))
        #expect(record.receipt == receipt && record.riskMetric == 7)
        let state = try #require(record.receiptState)
        #expect(state.kind == .receipt && state.lastOutcome == .renewed)
        #expect(state.createdAt == now && state.notBefore == now + 86_400)
        #expect(state.dueAt ?? 0 >= now + 86_400 && state.failureCount == 0)
        #expect(meter.value(.renewed) == 1 && meter.supersededCount == 0)
    }

    enum Forgery: CaseIterable {
        case anotherApp
        case anotherKey
        case anotherEnvironment
        case noSignature
        case oneOfAttestation
        case older
        case ofTomorrow
    }

    @Test(
        "what does not verify is refused, counted, and leaves what was known",
        arguments: Forgery.allCases)
    func invalid(_ forgery: Forgery) throws {
        let other = try SimulatedDevice(appID: Self.appID)
        let receipt =
            switch forgery {
            case .anotherApp: try receipt(appID: "ABCDE12345.com.example.other")
            case .anotherKey: try receipt(key: other.publicKey.x963)
            case .anotherEnvironment: try receipt(environment: .development)
            case .noSignature: [0x30, 0x80] as [UInt8]
            case .oneOfAttestation: try receipt(.attest, metric: nil)
            case .older: try receipt(age: 3600)
            case .ofTomorrow: try receipt(age: -86_400)
            }
        let (record, meter) = try renew(.receipt(receipt))
        #expect(record.receipt == [1] && record.riskMetric == nil)
        #expect(record.receiptState?.lastOutcome == .receiptInvalid)
        #expect(record.receiptState?.failureCount == 1)
        #expect(record.receiptState?.kind == .attest)
        #expect(meter.value(.receiptInvalid) == 1)
    }

    @Test(
        "Apple's refusals are kept with the key",
        arguments: [
            (RenewalResult.notFound, RenewalOutcome.notFound, true), (.tooEarly, .tooEarly, true),
            (.badPayload, .badPayload, false), (.wrongEnvironment, .wrongEnvironment, false),
            (.serverError(retryAfter: nil), .serverError, true),
        ])
    func refused(_ result: RenewalResult, _ outcome: RenewalOutcome, _ isDue: Bool) throws {
        let (record, meter) = try renew(.other(result))
        #expect(record.receiptState?.lastOutcome == outcome)
        #expect((record.receiptState?.dueAt != nil) == isDue)
        #expect(record.receipt == [1])
        #expect(meter.value(outcome) == 1)
    }

    @Test("one whose time has run out is over when Apple says so, and not by our clock alone")
    func expired() throws {
        let (record, meter) = try renew(.other(.notFound), expiresIn: -1)
        #expect(record.receiptState?.lastOutcome == .expired)
        #expect(record.receiptState?.dueAt == nil)
        #expect(meter.value(.expired) == 1)
    }

    @Test("one whose time has run out by our clock is renewed where Apple does it")
    func notExpired() throws {
        let (record, _) = try renew(.receipt(try receipt()), expiresIn: -1)
        #expect(record.receiptState?.lastOutcome == .renewed)
    }
}
