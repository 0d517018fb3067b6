public import Crypto
public import Settings

/// How signatures are verified: several at once by a library, or one at a time, and why.
public enum SignatureBatching: Sendable {
    /// `laneCountMin`: from how many signatures on the library is asked.
    case on(MultiBufferLibrary, auditPercent: Int, laneCountMin: Int)
    /// `isNamed`: the configuration names the library, so the operator counts on it.
    case unavailable(MultiBufferFailure, isNamed: Bool)
    /// The configuration does not want it.
    case off

    /// Looks for the library where `settings` want one. `beforeLoading` gets the path that they
    /// name right before its code runs, which can end the process or never return.
    public init(_ settings: CryptoSettings, beforeLoading: (String) -> Void) {
        guard settings.batches else {
            self = .off
            return
        }
        do throws(MultiBufferFailure) {
            self = .on(
                try MultiBufferLibrary(at: settings.library, beforeLoading: beforeLoading),
                auditPercent: settings.auditPercent,
                laneCountMin: P256BatchVerifier.usualLaneCountMin)
        } catch {
            self = .unavailable(error, isNamed: settings.library != nil)
        }
    }

    /// What is said before the library at `path` is loaded.
    public static func loadingWords(_ path: String) -> String {
        "\(path) is loaded next; if nothing follows, its code has ended or holds this program"
    }

    public var library: MultiBufferLibrary? {
        if case .on(let library, _, _) = self { library } else { nil }
    }

    /// Why the library that the configuration names is not used; nil where it is, or none is named.
    public var unusable: MultiBufferFailure? {
        if case .unavailable(let failure, isNamed: true) = self { failure } else { nil }
    }

    func makeVerifier() throws(CryptoError) -> P256BatchVerifier {
        guard case .on(let library, let auditPercent, let laneCountMin) = self else {
            return try P256BatchVerifier(library: nil, auditPercent: 0)
        }
        return try P256BatchVerifier(
            library: library, auditPercent: auditPercent, laneCountMin: laneCountMin)
    }

    /// What is done, as a part of a sentence.
    public var words: String {
        switch self {
        case .on(let library, let auditPercent, _):
            "up to \(P256BatchVerifier.laneCount) at once by crypto_mb \(library.version) "
                + "(\(library.path)); OpenSSL repeats \(auditPercent)% of them"
        case .unavailable(let failure, _): "one at a time by OpenSSL: \(failure)"
        case .off: "one at a time by OpenSSL: crypto.batch is off"
        }
    }
}
