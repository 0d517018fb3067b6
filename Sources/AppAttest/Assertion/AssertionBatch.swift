public import Bytes
public import Crypto

/// Verifies assertions, several at once if the processor can.
///
/// Each is checked as by ``AssertionVerifier``, and has a verdict of its own. One thread at a time.
public struct AssertionBatch: ~Copyable {
    private var signatures: P256BatchVerifier
    private var checks: [P256Check] = []

    /// An assertion that waits for its verdict: its caller keeps it.
    public struct Entry {
        fileprivate let check: P256Check
        fileprivate let authenticatorData: Range<Int>
        fileprivate let rpIDHash: Bytes32

        /// Takes an assertion, with the arguments of
        /// ``AssertionVerifier/verify(_:clientDataHash:publicKey:rpIDHash:)``. Throws what it can
        /// be refused for without its signature.
        public init(
            _ object: [UInt8], clientDataHash: Bytes32, publicKey: P256PublicKey, rpIDHash: Bytes32
        ) throws(AssertionFailure) {
            let places = try UnverifiedAssertion.places(in: object.span)
            // Step 2.
            let nonce = SHA256.hash(
                object.span.extracting(places.authenticatorData), clientDataHash)
            check = P256Check(
                bytes: object, signature: places.signature,
                digest: AssertionVerifier.signedDigest(of: nonce), key: publicKey)
            authenticatorData = places.authenticatorData
            self.rpIDHash = rpIDHash
        }
    }

    public typealias Outcome = Result<VerifiedAssertion, AssertionFailure>

    /// `signatures`: the verifier of the signatures. It belongs to this batch alone.
    public init(_ signatures: consuming P256BatchVerifier) { self.signatures = signatures }

    /// How many the next ``verify(_:entry:verdict:)`` checks together, of `count` that wait.
    public func batchCount(of count: Int) -> Int { signatures.batchCount(of: count) }

    /// The number of signatures that the library could not judge since the last call.
    public mutating func takeUndecidedCount() -> Int { signatures.takeUndecidedCount() }

    /// Verifies `count` assertions, at most eight, which `entry` gives by their numbers from 0 on.
    /// Calls `verdict` with what became of each, in that order.
    public mutating func verify(
        _ count: Int, entry: (Int) -> Entry, verdict: (Outcome) -> Void
    ) {
        for index in 0..<count { checks.append(entry(index).check) }
        let verdicts = signatures.verify(checks)
        checks.removeFew()
        for index in 0..<count {
            verdict(Self.outcome(of: entry(index), isSigned: verdicts[index]))
        }
    }

    private static func outcome(of entry: Entry, isSigned: Bool) -> Outcome {
        guard isSigned else { return .failure(.signatureInvalid) }
        do throws(AssertionFailure) {
            let bytes = entry.check.bytes
            return .success(
                try AssertionVerifier.signed(
                    bytes.span.extracting(entry.authenticatorData), rpIDHash: entry.rpIDHash))
        } catch {
            return .failure(error)
        }
    }
}
