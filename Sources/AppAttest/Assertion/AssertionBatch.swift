public import Bytes
public import Crypto

/// Verifies assertions, several at once if the processor can.
///
/// Each is checked as by ``AssertionVerifier``, and has a verdict of its own. One thread at a time.
public struct AssertionBatch: ~Copyable {
    private var signatures: P256BatchVerifier
    private var waiting: [Entry] = []
    /// The number of assertions in ``waiting`` that have their verdict.
    private var verifiedCount = 0
    private var checks: [P256Check] = []

    private struct Entry {
        let check: P256Check
        let authenticatorData: Range<Int>
        let rpIDHash: Bytes32
    }

    public typealias Outcome = Result<VerifiedAssertion, AssertionFailure>

    /// `signatures`: the verifier of the signatures. It belongs to this batch alone.
    public init(_ signatures: consuming P256BatchVerifier) { self.signatures = signatures }

    /// Takes an assertion for a later ``verify(_:)``, with the arguments of
    /// ``AssertionVerifier/verify(_:clientDataHash:publicKey:rpIDHash:)``. Throws if the assertion
    /// can be refused without its signature; it is not taken then.
    public mutating func add(
        _ object: [UInt8], clientDataHash: Bytes32, publicKey: P256PublicKey, rpIDHash: Bytes32
    ) throws(AssertionFailure) {
        let places = try UnverifiedAssertion.places(in: object.span)
        // Step 2.
        let nonce = SHA256.hash(
            object.span.extracting(places.authenticatorData), clientDataHash)
        let check = P256Check(
            bytes: object, signature: places.signature,
            digest: AssertionVerifier.signedDigest(of: nonce), key: publicKey)
        waiting.append(
            Entry(
                check: check, authenticatorData: places.authenticatorData, rpIDHash: rpIDHash))
    }

    /// Forgets assertions without a verdict that are not wanted any more.
    ///
    /// - Parameter isWanted: called with the place of each, in the order in which they were added.
    public mutating func keep(_ isWanted: (Int) -> Bool) {
        let first = verifiedCount
        let kept = waiting.indices.dropFirst(first).filter { isWanted($0 - first) }
        waiting = kept.map { waiting[$0] }
        verifiedCount = 0
    }

    /// The number of assertions that the next ``verify(_:)`` checks together if `count` wait.
    public func batchCount(of count: Int) -> Int { signatures.batchCount(of: count) }

    /// The number of signatures that the library could not judge since the last call.
    public mutating func takeUndecidedCount() -> Int { signatures.takeUndecidedCount() }

    /// Verifies the first `count` assertions that wait, at most eight. Calls `body` with the
    /// outcome of each, in the order in which they were added.
    public mutating func verify(_ count: Int, _ body: (Outcome) -> Void) {
        let first = verifiedCount
        for index in first..<first + count { checks.append(waiting[index].check) }
        let verdicts = signatures.verify(checks)
        for index in 0..<count {
            body(Self.outcome(of: waiting[first + index], isSigned: verdicts[index]))
        }
        // One by one: there are few, and removing all at once costs more.
        while !checks.isEmpty { checks.removeLast() }
        verifiedCount += count
        forgetVerified()
    }

    /// Drops the assertions that have their verdict. Not after each call, because those that wait
    /// behind them would be moved each time.
    private mutating func forgetVerified() {
        if verifiedCount == waiting.count {
            while !waiting.isEmpty { waiting.removeLast() }
        } else if verifiedCount * 2 >= waiting.count {
            waiting.removeFirst(verifiedCount)
        } else {
            return
        }
        verifiedCount = 0
    }

    /// Assertions that are held, with those that have their verdict.
    package var heldCount: Int { waiting.count }

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
