public import Bytes

/// Checks ECDSA signatures on P-256 with SHA-256, eight at a time if a library can.
///
/// The library does only the arithmetic of the curve. DER is parsed as strictly as by OpenSSL,
/// which also verifies a signature or digest out of range, and a lane for which the library answers
/// neither yes nor no. Free lanes hold signatures with a known verdict, at least one of them bad; a
/// share of the batches without a free lane gives one up for such a signature. OpenSSL repeats a
/// share of all verdicts. If one of these is found wrong, OpenSSL decides the whole batch, and the
/// library is trusted no more.
///
/// One thread at a time.
public struct P256BatchVerifier: ~Copyable {
    private let library: MultiBufferLibrary?
    private var single: P256Verifier
    private var lanes: MultiBufferLanes
    private var known = KnownLanes()
    private var audit: AuditDraw
    /// The number of signatures that the library could not judge since the last one that it could.
    private var undecidedRun = 0
    private var undecidedCount = 0
    private let laneCountMin: Int

    /// The number of signatures in one call of the library.
    public static let laneCount = MultiBufferLanes.count

    /// With fewer signatures OpenSSL is as fast: a batch costs as much as two and a half
    /// verifications, however many of its lanes are needed.
    public static let usualLaneCountMin = 3

    /// After so many signatures in a row that the library could not judge it is not asked again,
    /// because it only costs time. They are eight full batches.
    public static let undecidedRunMax = 64

    /// `library`: nil if OpenSSL checks all. `auditPercent`: the share of the library's verdicts
    /// that OpenSSL repeats, 0 to 100. `laneCountMin`: the number of signatures from which on the
    /// library is asked. Throws only if OpenSSL cannot make a verification context.
    public init(
        library: MultiBufferLibrary?, auditPercent: Int,
        laneCountMin: Int = P256BatchVerifier.usualLaneCountMin
    ) throws(CryptoError) {
        self.library = library
        single = try P256Verifier()
        lanes = MultiBufferLanes(filledWith: MultiBufferSelfTest.filler)
        audit = AuditDraw(percent: auditPercent)
        self.laneCountMin = laneCountMin
    }

    /// The number of signatures that the next ``verify(_:)`` takes if `count` wait: as many as the
    /// library takes, or one if there are too few for it or it is not trusted.
    public func batchCount(of count: Int) -> Int {
        guard library(for: count) != nil else { return min(count, 1) }
        return min(count, Self.laneCount)
    }

    /// Verifies up to eight signatures (DER), and returns for each, in their order, true if its key
    /// signed the digest.
    ///
    /// False also for anything but the one DER encoding, as by ``P256Verifier``.
    public mutating func verify(_ checks: [P256Check]) -> InlineArray<8, Bool> {
        precondition(checks.count <= Self.laneCount)
        guard let library = library(for: checks.count) else { return verifyEach(checks) }
        let expected = fill(checks)
        let verdicts = library.verify(lanes)
        if let reason = Self.fault(verdicts, expected) {
            library.distrust(reason)
            return verifyEach(checks)
        }
        var result = InlineArray<8, Bool>(repeating: false)
        for lane in 0..<checks.count {
            guard expected[lane] == nil else {
                result[lane] = verify(checks[lane])
                continue
            }
            guard verdicts[lane] != .unknown else {
                noteUndecided(library)
                result[lane] = verify(checks[lane])
                continue
            }
            undecidedRun = 0
            result[lane] = verdicts[lane] == .valid
            if audit.next(), verify(checks[lane]) != result[lane] {
                library.distrust(.otherVerdict)
                return verifyEach(checks)
            }
        }
        return result
    }

    /// The number of signatures since the last call that the library was asked about and could not
    /// judge. OpenSSL has verified them.
    public mutating func takeUndecidedCount() -> Int {
        defer { undecidedCount = 0 }
        return undecidedCount
    }

    private mutating func noteUndecided(_ library: MultiBufferLibrary) {
        undecidedCount += 1
        undecidedRun += 1
        if undecidedRun >= Self.undecidedRunMax { library.distrust(.undecided) }
    }

    /// The first wrong verdict on a signature whose validity is known; nil if all are right.
    private static func fault(
        _ verdicts: MultiBufferVerdicts, _ expected: KnownLanes.Verdicts
    ) -> MultiBufferDistrust? {
        for lane in 0..<laneCount {
            guard let isValid = expected[lane] else { continue }
            switch verdicts[lane] {
            case .unknown: return .knownUndecided
            case .valid where !isValid, .invalid where isValid: return .knownWrong
            case .valid, .invalid: continue
            }
        }
        return nil
    }

    /// The library, if it is to check `count` signatures together.
    private func library(for count: Int) -> MultiBufferLibrary? {
        guard let library, count >= laneCountMin, library.isTrusted else { return nil }
        return library
    }

    /// Puts each signature that the library accepts into its lane, and known ones into all others.
    /// Returns the known verdicts: nil for a lane that the library decides.
    private mutating func fill(_ checks: [P256Check]) -> KnownLanes.Verdicts {
        var isFree = InlineArray<8, Bool>(repeating: true)
        for lane in 0..<checks.count {
            guard let signed = Self.signed(checks[lane]) else { continue }
            lanes.set(lane, signed)
            isFree[lane] = false
        }
        // If all signatures are good, repeating a verdict does not reveal a library that accepts
        // everything.
        let isFull = !isFree.indices.contains { isFree[$0] }
        if isFull, audit.next() { isFree[known.nextSpare()] = true }
        return known.fill(isFree, of: &lanes)
    }

    /// The library's input for a check; nil if the library is not asked about it.
    private static func signed(_ check: P256Check) -> P256SignedDigest? {
        let der = check.bytes.span.extracting(check.signature)
        guard let signature = P256Signature(strictDER: der) else { return nil }
        let signed = P256SignedDigest(signature: signature, digest: check.digest, key: check.key)
        return signed.isInRange ? signed : nil
    }

    private mutating func verifyEach(_ checks: [P256Check]) -> InlineArray<8, Bool> {
        var result = InlineArray<8, Bool>(repeating: false)
        for index in 0..<checks.count { result[index] = verify(checks[index]) }
        return result
    }

    private mutating func verify(_ check: P256Check) -> Bool {
        let der = check.bytes.span.extracting(check.signature)
        return single.isValid(signature: der, digest: check.digest, key: check.key)
    }
}

/// A signature that is to be checked.
public struct P256Check: Sendable {
    /// The bytes that hold the signature, so that it need not be copied.
    public let bytes: [UInt8]
    /// The range of the signature's DER in ``bytes``.
    public let signature: Range<Int>
    /// The SHA-256 of the message.
    public let digest: Bytes32
    public let key: P256PublicKey

    public init(bytes: [UInt8], signature: Range<Int>, digest: Bytes32, key: P256PublicKey) {
        self.bytes = bytes
        self.signature = signature
        self.digest = digest
        self.key = key
    }
}
