import Background
import Judgement
import KeyStore

/// The outcome of the DeviceCheck token that an attestation brought, or did not bring.
enum DeviceTokenOutcome: String, CaseIterable {
    /// Apple has told the bits.
    case read
    case missing
    /// Apple does not accept the token, or it is not a token.
    case invalid
    case spent
    /// Apple or the counter store does not answer, or too many questions are under way.
    case unavailable

    fileprivate init(_ refusal: Refusal) {
        switch (refusal.reason, refusal.cause) {
        case (.storeUnavailable, _), (.gatewayBusy, _), (.rateLimited, _): self = .unavailable
        case (_, .check(.deviceTokenMissing)): self = .missing
        case (_, .check(.deviceTokenSpent)): self = .spent
        default: self = .invalid
        }
    }

    var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// The knowledge about a bit.
enum DeviceBitState: String, CaseIterable {
    case set
    case clear
    case unknown

    init(_ bit: Bool?) { self = bit.map { $0 ? .set : .clear } ?? .unknown }

    var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// The knowledge about the device that enrols a key.
struct DeviceReading {
    let outcome: DeviceTokenOutcome
    let bits: DeviceBits?
}

/// Reads the two bits of the device behind an attestation, by a DeviceCheck token beside it
/// (`signals.keys_per_device_bit`).
extension EndpointDesk {
    /// Asks Apple for the bits, where the enrolment brings a token.
    func readDeviceBits() throws(Refusal) -> Step {
        let isThere = !intake.uniqueField(site.fieldNames.deviceCheck).isAbsent
        guard isThere else { throw Self.missingToken }
        return try prover.askApple(about: try prover.readDeviceToken().bytes, withBits: true)
    }

    /// Spends the token: one token enrols one key, and a token that a request has shown enrols
    /// none.
    func spendForEnrolment(_ verdict: DeviceVerdict) throws(Refusal) -> Step {
        let id = try prover.know(verdict)
        guard let spending = services.spendToken(for: exchange, id) else { return .wait }
        try prover.checkSpending(spending)
        return .next
    }

    /// Runs a part of the reading, and enrols the key when no part is left. Throws only if a token
    /// is required: otherwise the bits are a signal, on which enrolment does not depend.
    func enrolling(_ part: () throws(Refusal) -> Step) throws(Refusal) -> Step {
        let reading: DeviceReading
        do throws(Refusal) {
            if case .wait = try part() { return .wait }
            reading = DeviceReading(outcome: .read, bits: deviceBits)
        } catch {
            let outcome = DeviceTokenOutcome(error)
            guard site.signals?.deviceBits?.isTokenRequired != true else {
                services.meter.enrols(outcome, nil)
                throw error
            }
            if outcome != .missing { judge.note(error.cause) }
            // A bit that is set helps no client, also one that shows a token of another.
            reading = DeviceReading(
                outcome: outcome, bits: deviceBits == .neverSet ? nil : deviceBits)
        }
        return try enrol(reading)
    }

    private var deviceBits: DeviceBits? {
        if case .deviceToken(let token) = prover.proof { token.bits } else { nil }
    }

    private static let missingToken = Refusal(
        .deviceTokenInvalid, .deviceTokenMissing,
        explanation: "Send a DeviceCheck token with the attestation.")
}
