public import Crypto
public import Settings

/// How signatures are verified: several at once by a library, or one at a time, and why.
public enum SignatureBatching: Sendable {
    /// `laneCountMin`: from how many signatures on the library is asked.
    case on(MultiBufferLibrary, auditPercent: Int, laneCountMin: Int)
    case unavailable(MultiBufferFailure)
    /// The configuration does not want it.
    case off

    /// Looks for the library where `settings` want one.
    public init(_ settings: CryptoSettings) {
        guard settings.batches else {
            self = .off
            return
        }
        do throws(MultiBufferFailure) {
            self = .on(
                try MultiBufferLibrary(at: settings.library), auditPercent: settings.auditPercent,
                laneCountMin: P256BatchVerifier.usualLaneCountMin)
        } catch {
            self = .unavailable(error)
        }
    }

    public var library: MultiBufferLibrary? {
        if case .on(let library, _, _) = self { library } else { nil }
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
        case .unavailable(let failure): "one at a time by OpenSSL: \(failure)"
        case .off: "one at a time by OpenSSL: crypto.batch is off"
        }
    }
}
