import AppAttest
public import Attestation
import Bytes
import JSON

/// A stand-in for Apple's services, without a network: receipts are renewed by its own root, and
/// DeviceCheck keeps two bits for each team and device. It checks what Apple checks, answers what
/// Apple answers, and fails on demand.
///
/// One thread at a time. For tests and demonstrations only.
public final class AppleStandIn {
    /// The form that the token must have in the `Authorization` header of `attestationData`.
    public enum Authorization: String, Sendable, CaseIterable {
        case bare
        case bearer
        case any
    }

    /// A received request, for tests that check the sender.
    public struct Record: Hashable, Sendable {
        public var service: String
        public var environment: AttestEnvironment
        public var path: String
        /// The id of the key that signed in, or nil if none did.
        public var keyID: String?
        public var status: Int
    }

    public var authorization = Authorization.bare
    /// Seconds from a receipt's creation to its *not before*. Apple's is a day.
    public var notBeforeSeconds: Int64 = 86400
    /// Seconds from a device token's first use to its last. Apple leaves time for a retry.
    public var deviceTokenLifeSeconds: Int64 = 60
    public private(set) var records: [Record] = []
    public private(set) var requestCount = 0

    private var signIn: SignInVerifier
    private var faults: [StandInFault] = []
    var receipts: StandInReceipts
    var devices: StandInDevices

    private static let recordCountMax = 10_000

    /// `secret`: the secret that device tokens are sealed with.
    public init(apple: SimulatedApple, keys: [SignInKey], secret: [UInt8]) {
        signIn = SignInVerifier(keys)
        receipts = StandInReceipts(apple: apple)
        devices = StandInDevices(secret: secret)
    }

    // MARK: controls for operators and tests

    public func add(_ fault: StandInFault) { faults.append(fault) }

    public func clearFaults() { faults.removeAll() }

    public func clearRecords() { records.removeAll() }

    public func revoke(keyID: String) { signIn.revoke(keyID: keyID) }

    public func restore(keyID: String) { signIn.restore(keyID: keyID) }

    /// Puts attested keys (``KeyID``) on one device, so that its risk metric counts them.
    public func place(_ keyIDs: [KeyID], on device: String) { receipts.place(keyIDs, on: device) }

    /// Sets the key's risk metric, whatever the count is.
    public func setRisk(_ metric: UInt32, of keyID: KeyID) { receipts.setRisk(metric, of: keyID) }

    /// Forgets the key: its receipts get 404.
    public func forget(_ keyID: KeyID) { receipts.forget(keyID) }

    public func deviceToken(
        device: String, teamID: String, environment: AttestEnvironment
    ) -> String {
        SimulatedDeviceToken(device: device, teamID: teamID, environment: environment)
            .text(secret: devices.secret)
    }

    /// The bits of a device, or nil if they were never set.
    public func bits(teamID: String, device: String) -> (bit0: Bool, bit1: Bool)? {
        devices.bits(teamID: teamID, device: device)
    }

    // MARK: requests

    /// The reply to a request. `seconds`: since 1970.
    public func reply(to request: StandInRequest, at seconds: Int64) -> StandInReply {
        requestCount += 1
        let service: StandInService =
            request.path == "/v1/attestationData" ? .attestationData : .deviceCheck
        let fault = takeFault(service, request.environment)
        var keyID: String?
        var reply = fault?.reply ?? genuine(service, request, seconds, &keyID)
        if let fault {
            reply.conduct = fault.conduct
            reply.delay = fault.delay
        }
        if records.count == Self.recordCountMax { records.removeFirst(Self.recordCountMax / 2) }
        records.append(
            Record(
                service: service.rawValue, environment: request.environment, path: request.path,
                keyID: keyID, status: reply.status))
        return reply
    }

    private func takeFault(
        _ service: StandInService, _ environment: AttestEnvironment
    ) -> StandInFault? {
        guard let index = faults.firstIndex(where: { $0.concerns(service, environment) }) else {
            return nil
        }
        let fault = faults[index]
        if let count = fault.count {
            faults[index].count = count - 1
            if count <= 1 { faults.remove(at: index) }
        }
        return fault
    }

    private func genuine(
        _ service: StandInService, _ request: StandInRequest, _ seconds: Int64,
        _ keyID: inout String?
    ) -> StandInReply {
        guard request.method == "POST" else { return StandInReply(status: 405) }
        guard let token = token(in: request, service),
            let key = signIn.key(of: token, at: seconds)
        else { return StandInReply(status: 401, text: "Unable to verify authorization token") }
        keyID = key.keyID
        switch service {
        case .attestationData:
            return receipts.reply(
                to: request, teamID: key.teamID, at: seconds, notBeforeSeconds: notBeforeSeconds)
        case .deviceCheck:
            return devices.reply(
                to: request, teamID: key.teamID, at: seconds,
                tokenLifeSeconds: deviceTokenLifeSeconds)
        }
    }

    private func token(in request: StandInRequest, _ service: StandInService) -> String? {
        guard let value = request.authorization else { return nil }
        let isBearer = value.hasPrefix("Bearer ")
        let expected = service == .deviceCheck ? Authorization.bearer : authorization
        switch expected {
        case .bare: return isBearer ? nil : value
        case .bearer: return isBearer ? String(value.dropFirst(7)) : nil
        case .any: return isBearer ? String(value.dropFirst(7)) : value
        }
    }
}
