import Bytes
import JSON

/// Signals in what goes upstream and into the log.
extension Exchange {
    /// The names of what was raised, and what was counted.
    func appendSignals() {
        guard let signals else { return }
        upstreamHead.append("X-Attest-Signals: ")
        if signals.raised.isEmpty { upstreamHead.append("none") }
        for (index, signal) in signals.raised.enumerated() {
            if index > 0 { upstreamHead.append(", ") }
            upstreamHead.append(signal.name)
        }
        upstreamHead.append("\r\n")
        for signal in Signal.allCases {
            guard let name = signal.fieldName, let count = signals.count(of: signal) else {
                continue
            }
            upstreamHead.append(name)
            upstreamHead.append(decimal: UInt64(count))
            upstreamHead.append("\r\n")
        }
    }
}

extension Signal {
    /// The field that tells the count, up to its value; nil where the name says it all.
    fileprivate var fieldName: StaticString? {
        switch self {
        case .userKeys: "X-Attest-User-Keys: "
        case .newUserKey: nil
        case .addressKeys: "X-Attest-Address-Keys: "
        case .addressAttestations: "X-Attest-Address-Attestations: "
        case .keyConflicts: "X-Attest-Key-Conflicts: "
        }
    }
}
