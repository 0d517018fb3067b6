import KeyStore

/// What became of the token of DeviceCheck that an attestation brought, or not.
enum DeviceTokenFate: String, CaseIterable {
    /// Apple has told the bits.
    case read
    case missing
    /// Apple does not take it, or it is none.
    case invalid
    case spent
    /// Apple, or the counter store, does not answer, or too much is asked already.
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

/// What is known of a bit.
enum DeviceBitState: String, CaseIterable {
    case set
    case clear
    case unknown

    init(_ bit: Bool?) { self = bit.map { $0 ? .set : .clear } ?? .unknown }

    var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// What is known of the device that wants to enrol a key.
struct DeviceReading {
    let fate: DeviceTokenFate
    let bits: DeviceBits?
}

/// The two bits of the device behind an attestation, by a token of DeviceCheck beside it
/// (`signals.keys_per_device_bit`).
extension Exchange {
    /// Nil while Apple, or the counter store, is asked. Throws only where a token is required: a
    /// signal is not what enrolment depends on.
    func deviceReading(
        _ rules: SiteSignals.DeviceBitRules
    ) throws(Refusal) -> DeviceReading? {
        var bits: DeviceBits?
        do throws(Refusal) {
            guard let device else {
                let isThere = !uniqueField(site.fieldNames.deviceCheck).isAbsent
                guard isThere else { throw Self.missingToken }
                self.device = DeviceProof()
                try askAboutDevice(withBits: true)
                return nil
            }
            guard let verdict = device.verdict else { return nil }
            bits = try self.bits(of: verdict)
            // One token, one key: nor may a request have shown it.
            guard try spend(device) else { return nil }
            return DeviceReading(fate: .read, bits: bits)
        } catch {
            let fate = DeviceTokenFate(error)
            guard !rules.isTokenRequired else {
                worker.meter.enrols(fate, nil)
                throw error
            }
            if fate != .missing { cause = error.cause }
            // Nobody gains by a bit that is set, whoever has shown the token before.
            return DeviceReading(fate: fate, bits: bits == .neverSet ? nil : bits)
        }
    }

    private static let missingToken = Refusal(
        .deviceTokenInvalid, .deviceTokenMissing,
        explanation: "Send a token of DeviceCheck with the attestation.")
}
