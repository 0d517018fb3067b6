import AppAttestTesting
import Attestation
import DeviceCheck
import Foundation
import GatewayTesting
import SallyportClient

/// A device's App Attest, whose answers a test may replace by failures.
final class SimulatedService: AttestService, @unchecked Sendable {
    /// The steps that can fail.
    enum Step { case key, attestation, assertion }

    private let lock = NSLock()
    private var devices: [String: SimulatedDevice] = [:]
    private var failures: [(step: Step, code: DCError.Code)] = []
    private var hashes: [Data] = []
    let isSupported: Bool

    init(isSupported: Bool = true) { self.isSupported = isSupported }

    /// The next call of this step fails so.
    func fail(_ step: Step, _ code: DCError.Code) {
        lock.withLock { failures.append((step, code)) }
    }

    /// The keys are gone, as after an installation anew.
    func loseKeys() { lock.withLock { devices.removeAll() } }

    var keyCount: Int { lock.withLock { devices.count } }
    /// What keys were attested over, failed attempts included.
    var attestedHashes: [Data] { lock.withLock { hashes } }

    private func check(_ step: Step) throws {
        guard let index = failures.firstIndex(where: { $0.step == step }) else { return }
        throw DCError(failures.remove(at: index).code)
    }

    func generateKey() async throws -> String {
        try lock.withLock {
            try check(.key)
            let device = try SimulatedDevice(appID: GatewayConfiguration.appID)
            devices[device.keyID.base64] = device
            return device.keyID.base64
        }
    }

    func attestKey(_ keyID: String, clientDataHash: Data) async throws -> Data {
        try lock.withLock {
            hashes.append(clientDataHash)
            try check(.attestation)
            guard let device = devices[keyID] else { throw DCError(.invalidKey) }
            return Data(
                try device.attest(
                    clientDataHash: Array(clientDataHash), by: TestApple.shared,
                    at: Int64(Date().timeIntervalSince1970)))
        }
    }

    func generateAssertion(_ keyID: String, clientDataHash: Data) async throws -> Data {
        try lock.withLock {
            try check(.assertion)
            guard let device = devices[keyID] else { throw DCError(.invalidKey) }
            return Data(try device.assert(clientDataHash: Array(clientDataHash)))
        }
    }
}

/// A device's DeviceCheck.
struct SimulatedDeviceTokens: DeviceTokenService {
    var isSupported = false

    func generateToken() async throws -> Data { Data("token".utf8) }
}

/// A clock that stands still but for those who sleep, and notes for how long they did.
final class SimulatedClock: @unchecked Sendable {
    private let lock = NSLock()
    private var current = Date()
    private var naps: [TimeInterval] = []

    var sleeps: [TimeInterval] { lock.withLock { naps } }

    func advance(_ seconds: TimeInterval) { lock.withLock { current += seconds } }

    var clock: ClientClock {
        var clock = ClientClock()
        clock.now = { [self] in lock.withLock { current } }
        clock.sleep = { [self] seconds in
            lock.withLock {
                naps.append(seconds)
                current += seconds
            }
        }
        clock.chance = { 0 }
        return clock
    }
}
