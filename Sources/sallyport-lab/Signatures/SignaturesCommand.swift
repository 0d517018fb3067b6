import AppAttestTesting
import Bytes
import Crypto
import EventLoop

/// `sallyport-lab signatures`: compares the library that verifies batches with OpenSSL.
enum SignaturesCommand {
    private static let usage = """
        usage: sallyport-lab signatures [--library FILE] [--count N] [--seed N]

          --library  crypto_mb; by default the one that the system finds
          --count    verdicts to be compared (100000)
          --seed     another one for other faults (1)

        Half of the signatures are as their devices made them, the others have a fault: numbers near
        0, n, p and 2^256, other keys, other digests, bits that were turned. Prints one JSON line;
        ends with 1 at the first difference.
        """

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words, names: ["--library", "--count", "--seed"], usage: usage)
        let library = try MultiBufferLibrary(at: options.value("--library"))
        let pool = try SignatureFaults.pool(1024, keyCount: 64)
        var faults = SignatureFaults(seed: UInt64(options.count("--seed", or: 1)))
        var batch = try P256BatchVerifier(library: library, auditPercent: 0)
        var single = try P256Verifier()
        let count = options.count("--count", or: 100_000)
        let laneCount = P256BatchVerifier.laneCount
        var (validCount, checkedCount) = (0, 0)
        var times: (library: UInt64, single: UInt64) = (0, 0)
        while checkedCount < count {
            let checks = (0..<laneCount).map { _ in faults.next(pool) }
            let start = MonotonicInstant.now()
            let verdicts = batch.verify(checks)
            let middle = MonotonicInstant.now()
            for (lane, check) in checks.enumerated() {
                let isValid = single.isValid(
                    signature: check.bytes.span.extracting(check.signature),
                    digest: check.digest, key: check.key)
                guard isValid == verdicts[lane] else {
                    throw LabError("lane \(lane): OpenSSL says \(isValid): \(text(of: check))")
                }
                if isValid { validCount += 1 }
            }
            times.library += middle.nanoseconds(since: start)
            times.single += MonotonicInstant.now().nanoseconds(since: middle)
            checkedCount += laneCount
        }
        if let reason = library.distrust { throw LabError(reason.text(about: library.path)) }
        print(
            "{\"library\":\"crypto_mb \(library.version)\",\"verdicts\":\(checkedCount),"
                + "\"valid\":\(validCount),\"differences\":0,"
                + "\"library_us\":\(microseconds(times.library, checkedCount)),"
                + "\"openssl_us\":\(microseconds(times.single, checkedCount))}")
    }

    /// The time of one verdict, with one decimal.
    private static func microseconds(_ nanoseconds: UInt64, _ count: Int) -> String {
        let tenths = nanoseconds / UInt64(max(1, count) * 100)
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func text(of check: P256Check) -> String {
        let signature = Hex.encode(Array(check.bytes[check.signature]))
        return "signature \(signature), digest \(Hex.encode(check.digest.array)), key "
            + Hex.encode(check.key.x963)
    }
}
