public import Bytes

/// Checks ECDSA signatures on P-256 with SHA-256, eight at a time where a library can.
///
/// Only the arithmetic of the curve is the library's. DER is parsed as strictly as OpenSSL does; a
/// signature or digest that is out of range, and a lane of which the library says neither yes nor
/// no, is OpenSSL's. Free lanes hold signatures of which the verdict is known, one that is bad at
/// least; a share of the batches without a free lane gives one up for such a signature. A share of
/// all verdicts is repeated by OpenSSL. Where one of these shows a wrong verdict, OpenSSL decides
/// the whole batch, and the library is trusted no more.
///
/// One thread at a time.
public struct P256BatchVerifier: ~Copyable {
    private let library: MultiBufferLibrary?
    private var single: P256Verifier
    private var lanes: MultiBufferLanes
    private var known = KnownLanes()
    private var audit: AuditDraw
    /// Signatures that the library could not judge since the last that it could.
    private var undecidedRun = 0
    private var undecidedCount = 0
    private let laneCountMin: Int

    /// The signatures of one call of the library.
    public static let laneCount = MultiBufferLanes.count

    /// With fewer signatures than these, OpenSSL is as fast: a batch costs what two and a half
    /// verifications do, however many of its lanes are needed.
    public static let usualLaneCountMin = 3

    /// After so many signatures in a row that the library could not judge it is not asked again: it
    /// only costs time. They are eight full batches.
    public static let undecidedRunMax = 64

    /// `library`: nil where OpenSSL checks them all. `auditPercent`: the share of the library's
    /// verdicts that OpenSSL repeats, 0 to 100. `laneCountMin`: from how many signatures on the
    /// library is asked. Fails only where OpenSSL cannot make a verification context.
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

    /// How many of `count` signatures the next ``verify(_:)`` takes: as many as the library, or one
    /// where there are too few for it or it is not trusted.
    public func batchCount(of count: Int) -> Int {
        guard library(for: count) != nil else { return min(count, 1) }
        return min(count, Self.laneCount)
    }

    /// Whether each of up to eight signatures (DER) is its key's over the digest, in their order.
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

    /// How many signatures the library was asked about since the last call, and could not judge:
    /// OpenSSL has verified them.
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

    /// Puts each signature that the library takes into its lane, and known ones into all others.
    /// Returns what is known: nil for a lane whose verdict is the library's.
    private mutating func fill(_ checks: [P256Check]) -> KnownLanes.Verdicts {
        var isFree = InlineArray<8, Bool>(repeating: true)
        for lane in 0..<checks.count {
            guard let signed = Self.signed(checks[lane]) else { continue }
            lanes.set(lane, signed)
            isFree[lane] = false
        }
        // Where all signatures are good, no repeated verdict tells a library that accepts all.
        let isFull = !isFree.indices.contains { isFree[$0] }
        if isFull, audit.next() { isFree[known.nextSpare()] = true }
        return known.fill(isFree, of: &lanes)
    }

    /// What the library is asked about a check; nil where it is not.
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
public struct P256Check {
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
