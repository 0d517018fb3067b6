import Bytes
import JSON
import Judgement
import KeyStore

/// The signals in the upstream's request head and in the log.
extension HeadRewriter {
    /// Appends the names of the signals that were raised, and the counts.
    func append(_ signals: SignalFacts, of verdict: borrowing Verdict) {
        guard let rules = site.signals else { return }
        state.upstreamHead.append("X-Attest-Signals: ")
        if signals.raised.isEmpty { state.upstreamHead.append("none") }
        for (index, rule) in signals.raised.enumerated() {
            if index > 0 { state.upstreamHead.append(", ") }
            state.upstreamHead.append(rule.name)
        }
        state.upstreamHead.append("\r\n")
        for signal in Signal.allCases {
            guard let name = signal.fieldName, let count = signals.count(of: signal) else {
                continue
            }
            state.upstreamHead.append(name)
            state.upstreamHead.append(decimal: UInt64(count))
            state.upstreamHead.append("\r\n")
        }
        if let bits = verdict.deviceBits, let rules = rules.deviceBits {
            append(bits, rules.names, signals)
        }
    }

    /// Appends the bits that the key's device has set, and how many keys such devices have.
    private func append(_ bits: DeviceBits, _ names: [String], _ signals: SignalFacts) {
        state.upstreamHead.append("X-Attest-Device-Bits: ")
        var setCount = 0
        for index in names.indices where bits[index] {
            if setCount > 0 { state.upstreamHead.append(", ") }
            state.upstreamHead.append(names[index])
            setCount += 1
        }
        state.upstreamHead.append(setCount == 0 ? "none\r\n" : "\r\n")
        var toldCount = 0
        for index in names.indices {
            guard let count = signals.count(of: .keys(ofBit: index)) else { continue }
            state.upstreamHead.append(toldCount == 0 ? "X-Attest-Device-Bit-Keys: " : ", ")
            state.upstreamHead.append(names[index])
            state.upstreamHead.append("=")
            state.upstreamHead.append(decimal: UInt64(count))
            toldCount += 1
        }
        if toldCount > 0 { state.upstreamHead.append("\r\n") }
    }
}

extension Signal {
    /// The start of the field with the count, up to its value; nil if the signal's name says it
    /// all, and for one that only enrolments raise.
    fileprivate var fieldName: StaticString? {
        switch self {
        case .userKeys: "X-Attest-User-Keys: "
        case .newUserKey, .bit0Keys, .bit1Keys, .certificateKeys, .installationSuccessions: nil
        case .addressKeys: "X-Attest-Address-Keys: "
        case .addressAttestations: "X-Attest-Address-Attestations: "
        case .keyConflicts: "X-Attest-Key-Conflicts: "
        case .keyUsers: "X-Attest-Key-Users: "
        case .keyAddresses: "X-Attest-Key-Addresses: "
        case .keyNetworks: "X-Attest-Key-Networks: "
        case .counterGaps: "X-Attest-Counter-Gaps: "
        }
    }
}
