public import Bytes
public import Crypto

/// Verifies the signatures of requests, several at once if the processor can.
///
/// Each request has a verdict of its own. One thread at a time.
public struct SignatureBatch: ~Copyable {
    private var signatures: P256BatchVerifier
    private var entries: [Entry] = []
    private var checks: [P256Check] = []

    /// A request that waits for its verdict: its caller keeps it.
    public struct Entry {
        fileprivate let request: UnverifiedRequest
        fileprivate let platform: any Platform
        fileprivate let appDigest: Bytes32

        /// `appDigest`: the ``AppIdentity/idDigest`` of the key's app.
        public init(
            _ request: UnverifiedRequest, on platform: any Platform, appDigest: Bytes32
        ) {
            self.request = request
            self.platform = platform
            self.appDigest = appDigest
        }
    }

    public typealias Outcome = Result<VerifiedRequest, PlatformFailure>

    /// The signature was not made by this key over this client data.
    public static let signatureInvalid = PlatformFailure(
        .other, code: "signature_invalid",
        description: "the signature is not the key's over this client data")

    /// `signatures`: the verifier of the signatures. It belongs to this batch alone.
    public init(_ signatures: consuming P256BatchVerifier) { self.signatures = signatures }

    /// How many the next ``verify(_:entry:verdict:)`` checks together, of `count` that wait.
    public func batchCount(of count: Int) -> Int { signatures.batchCount(of: count) }

    /// The number of signatures that the library could not judge since the last call.
    public mutating func takeUndecidedCount() -> Int { signatures.takeUndecidedCount() }

    /// Verifies `count` requests, at most eight, which `entry` gives by their numbers from 0 on.
    /// Calls `verdict` with what became of each, in that order.
    public mutating func verify(
        _ count: Int, entry: (Int) -> Entry, verdict: (Outcome) -> Void
    ) {
        for index in 0..<count {
            entries.append(entry(index))
            checks.append(entries[index].request.check)
        }
        let verdicts = signatures.verify(checks)
        for index in 0..<count {
            verdict(Self.outcome(of: entries[index], isSigned: verdicts[index]))
        }
        checks.removeFew()
        entries.removeFew()
    }

    private static func outcome(of entry: Entry, isSigned: Bool) -> Outcome {
        guard isSigned else { return .failure(signatureInvalid) }
        let request = entry.request
        do throws(PlatformFailure) {
            let evidence = SignedEvidence(
                request.check.bytes.span.extracting(request.signedRange),
                digest: request.check.digest)
            return .success(
                VerifiedRequest(
                    try entry.platform.facts(of: evidence, appDigest: entry.appDigest)))
        } catch {
            return .failure(error)
        }
    }
}
