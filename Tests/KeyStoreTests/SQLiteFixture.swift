import Attestation
import Bytes
import Crypto
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Testing

/// A directory of its own for each test, gone with it.
final class TemporaryDirectory {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "sallyport-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var registryPath: String { path + "/registry.db" }
    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }
}

/// SplitMix64: a seed is a bug report.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes32() -> Bytes32 {
        Bytes32(word0: next(), word1: next(), word2: next(), word3: next())
    }

    mutating func bytes16() -> Bytes16 { Bytes16(word0: next(), word1: next()) }

    mutating func keyID() -> KeyID { KeyID(digest: bytes32()) }

    mutating func record(appID: String = "ABCDE12345.com.example.app") -> KeyRecord {
        KeyRecord(
            keyID: keyID(), publicKey: P256PublicKey(x: bytes32(), y: bytes32()), appID: appID,
            environment: .production, enrolledAt: 1_790_000_000)
    }
}

extension KeyRecord {
    /// With a receipt, and all that may be known of it.
    mutating func addReceipt(_ bytes: [UInt8], metric: UInt32? = 3) {
        riskMetric = metric
        receipt = bytes
        receiptState = ReceiptState(
            kind: .receipt, createdAt: enrolledAt + 100, notBefore: enrolledAt + 86_500,
            expiresAt: enrolledAt + 7_776_100, dueAt: status == .active ? enrolledAt + 90_000 : nil,
            lastOutcome: .tooEarly, attemptedAt: enrolledAt + 50_000, failureCount: 2)
    }

    /// What requests need of it.
    var withoutReceipt: KeyRecord {
        var record = self
        record.receipt = nil
        record.receiptState = nil
        return record
    }
}

/// What a registry answered, once it has.
final class Reply<Value: Sendable>: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let value = Locked<Value?>(nil)

    func give(_ answer: Value) {
        value.withLock { $0 = answer }
        semaphore.signal()
    }

    /// Blocks the test's thread; nil if nothing comes.
    func wait() -> Value? {
        _ = semaphore.wait(timeout: .now() + .seconds(ChildProcess.patienceSeconds))
        return value.withLock { $0 }
    }
}

struct NoReply: Error {}

extension Registry {
    func find(_ keyID: KeyID) throws -> KeyRecord? {
        let reply = Reply<Result<KeyRecord?, StoreError>>()
        find(keyID) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }

    func enrol(_ record: KeyRecord, challenge: Bytes16) throws -> EnrolmentOutcome {
        let reply = Reply<Result<EnrolmentOutcome, StoreError>>()
        enrol(record, challenge: challenge) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }

    /// Enrols a key that nobody knows yet.
    func enrolAny(_ generator: inout SeededGenerator) throws -> KeyRecord {
        let record = generator.record()
        #expect(try enrol(record, challenge: generator.bytes16()) == .enrolled)
        return record
    }

    func advance(_ keyID: KeyID, _ counter: UInt32) throws -> DurableOutcome {
        let reply = Reply<Result<DurableOutcome, StoreError>>()
        advanceDurably(keyID, counter: counter) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }

    func probe() throws {
        let reply = Reply<Result<Void, StoreError>>()
        probe { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        try answer.get()
    }
}
