import Attestation

/// What was signed, accepted and forwarded in one simulation, and what must never be.
struct Ledger {
    /// One signed request: who keeps it can send it again.
    struct Signed {
        let device: Int
        let uniqueness: Uniqueness
        let challenge: String
        /// With a signature that does not hold.
        let isForged: Bool
        /// Sent at least once while the device was not revoked.
        var wasSentInTime = false
        var forwardedCount = 0
    }

    private(set) var signed: [Signed] = []
    private(set) var violations: [String] = []
    /// Counters, or marks of a phone's requests, that the store has accepted, by device, in any of
    /// its lives.
    private var accepted: [Set<UInt32>]
    /// Devices whose revocation was acknowledged.
    private var revoked: [Bool]
    private(set) var forwardedCount = 0
    private(set) var replayRefusedCount = 0

    /// Whether every counter that the store accepts is reported here.
    private let seesStore: Bool

    init(deviceCount: Int, seesStore: Bool) {
        self.seesStore = seesStore
        accepted = Array(repeating: [], count: deviceCount)
        revoked = Array(repeating: false, count: deviceCount)
    }

    mutating func add(_ request: Signed) -> Int {
        signed.append(request)
        return signed.count - 1
    }

    mutating func storeAccepted(device: Int, mark: UInt32) { accepted[device].insert(mark) }

    mutating func revokedForGood(_ device: Int) { revoked[device] = true }

    func isRevoked(_ device: Int) -> Bool { revoked[device] }

    mutating func sent(_ index: Int) {
        if !revoked[signed[index].device] { signed[index].wasSentInTime = true }
    }

    /// A request has reached the upstream.
    mutating func forwarded(_ index: Int) {
        guard signed.indices.contains(index) else {
            violations.append("a request that nobody sent reached the upstream")
            return
        }
        forwardedCount += 1
        signed[index].forwardedCount += 1
        let request = signed[index]
        if request.isForged { violations.append("forged request \(index) was forwarded") }
        if request.forwardedCount > 1 { violations.append("request \(index) was forwarded twice") }
        let sameChallenge = signed.count {
            $0.device == request.device && $0.challenge == request.challenge
                && $0.forwardedCount > 0
        }
        if sameChallenge > 1 {
            violations.append("device \(request.device): a challenge was accepted twice")
        }
        if !request.wasSentInTime {
            violations.append("device \(request.device) was accepted after its revocation")
        }
    }

    /// Nothing but an accepted counter may stand in a counter's way, and in a phone's nothing but
    /// the same request.
    private func mayBeReplay(_ request: Signed) -> Bool {
        let accepted = accepted[request.device]
        return switch request.uniqueness {
        case .counter(let counter): accepted.contains { $0 >= counter }
        case .challenge(let mark): accepted.contains(mark)
        }
    }

    /// The gateway has answered a signed request.
    mutating func answered(_ index: Int, status: Int, code: String?) {
        let request = signed[index]
        switch code {
        case "key_unknown":
            violations.append("device \(request.device) is enrolled and was called unknown")
        case "assertion_replayed":
            replayRefusedCount += 1
            if seesStore, !request.isForged, !mayBeReplay(request) {
                violations.append("request \(index) was called a replay, and none was accepted")
            }
        default: break
        }
        if status == 200, request.forwardedCount == 0 {
            violations.append("request \(index) was answered without the upstream")
        }
    }

    /// How many requests of phones reached the upstream.
    var forwardedPhoneCount: Int {
        signed.count { $0.uniqueness.counter == nil && $0.forwardedCount > 0 }
    }

    mutating func violated(_ text: String) { violations.append(text) }
}
