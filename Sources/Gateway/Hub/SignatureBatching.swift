public import Crypto
public import Settings

/// The way in which signatures are verified, several at once by a library or one at a time, and the
/// reason.
public enum SignatureBatching: Sendable {
    /// `laneCountMin`: the number of signatures from which on the library is asked.
    case on(MultiBufferLibrary, auditPercent: Int, laneCountMin: Int)
    /// `isNamed`: the configuration names the library, so the operator counts on it.
    case unavailable(MultiBufferFailure, isNamed: Bool)
    /// The configuration turns it off.
    case off

    /// Looks for the library if `settings` want one. `beforeLoading` is called with the path that
    /// they name right before the library's code runs, which may end the process or never return.
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

    /// The message before the library at `path` is loaded.
    public static func loadingWords(_ path: String) -> String {
        "\(path) is loaded next; if nothing follows, its code has ended or holds this program"
    }

    public var library: MultiBufferLibrary? {
        if case .on(let library, _, _) = self { library } else { nil }
    }

    /// The reason why the library that the configuration names is not used; nil if it is used, or
    /// if none is named.
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

    /// The way of verification, as a part of a sentence.
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
