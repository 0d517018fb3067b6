import AppAttestTesting
import Bytes
import Crypto
import Foundation
import GatewayTesting
import Testing

extension P256Check {
    func with(_ signature: [UInt8]) -> P256Check {
        P256Check(bytes: signature, signature: 0..<signature.count, digest: digest, key: key)
    }

    func with(digest: Bytes32) -> P256Check {
        P256Check(bytes: bytes, signature: signature, digest: digest, key: key)
    }

    func with(key: P256PublicKey) -> P256Check {
        P256Check(bytes: bytes, signature: signature, digest: digest, key: key)
    }

    /// OpenSSL's verdict.
    func isValid(_ verifier: inout P256Verifier) -> Bool {
        verifier.isValid(
            signature: bytes.span.extracting(signature), digest: digest, key: key)
    }
}

@Suite("A batch of P-256 signatures")
struct BatchTests {}

extension BatchTests {
    /// The library that the tests use here: Intel's where it can be used, else a stand-in.
    private func verifier(
        _ library: MultiBufferLibrary? = nil, auditPercent: Int = 0, laneCountMin: Int = 1
    ) throws -> P256BatchVerifier {
        let library = try library ?? TestSignatures.someLibrary()
        return try P256BatchVerifier(
            library: library, auditPercent: auditPercent, laneCountMin: laneCountMin)
    }

    /// Every way in which a signature can be bad, on each lane in turn among good ones.
    @Test("has a verdict of its own for every lane, whatever stands in the others")
    func faults() throws {
        let pool = try SignatureFaults.pool(8, keyCount: 4)
        let other = try P256PrivateKey.generate().publicKey
        let order = try #require(Bytes32(hex: P256Tests.order))
        let faults: [(P256Check) throws -> P256Check] = [
            { $0.with(key: other) },
            { $0.with(digest: .zero) },
            { $0.with(digest: order) },
            { $0.with(Array($0.bytes.dropLast())) },
            { $0.with($0.bytes + [0]) },
            { $0.with([]) },
            { $0.with([UInt8](repeating: 0x30, count: 200)) },
            { check in
                let numbers = try #require(DER.numbers(of: check.bytes))
                return check.with(DER.signature(r: numbers.r, s: order.array))
            },
            { check in
                let numbers = try #require(DER.numbers(of: check.bytes))
                return check.with(
                    DER.signature(r: [UInt8](repeating: 0, count: 32), s: numbers.s))
            },
            // Not on the curve.
            { $0.with(key: P256PublicKey(x: $0.key.x, y: $0.key.x)) },
        ]
        var batch = try verifier()
        var single = try P256Verifier()
        for fault in faults {
            for lane in 0..<8 {
                var checks = pool
                checks[lane] = try fault(checks[lane])
                let verdicts = batch.verify(checks)
                for index in 0..<8 {
                    #expect(verdicts[index] == checks[index].isValid(&single))
                    #expect(verdicts[index] == (index != lane))
                }
            }
        }
    }

    @Test("verifies any number up to eight, whatever the last batch held")
    func counts() throws {
        let pool = try SignatureFaults.pool(8, keyCount: 4)
        var batch = try verifier()
        for count in [8, 1, 3, 0, 7, 2, 8] {
            let checks = pool[..<count].enumerated().map { index, check in
                index % 2 == 0 ? check : check.with(digest: .zero)
            }
            let verdicts = batch.verify(checks)
            for index in 0..<8 { #expect(verdicts[index] == (index < count && index % 2 == 0)) }
        }
    }

    @Test("has a verdict for every signature, whichever lane is left to OpenSSL")
    func fullBatches() throws {
        var batch = try verifier(auditPercent: 100)
        for lane in 0..<16 {
            var checks = try SignatureFaults.pool(8, keyCount: 4)
            checks[lane % 8] = checks[lane % 8].with(digest: .zero)
            let verdicts = batch.verify(checks)
            for index in 0..<8 { #expect(verdicts[index] == (index != lane % 8)) }
        }
    }

    @Test("is made where it saves time, and of eight at most")
    func size() throws {
        let batch = try verifier(laneCountMin: P256BatchVerifier.usualLaneCountMin)
        let sizes = [0, 1, 2, 3, 8, 9, 64].map { batch.batchCount(of: $0) }
        #expect(sizes == [0, 1, 1, 3, 8, 8, 8])
    }

    @Test("agrees with OpenSSL on two thousand batches of random faults")
    func differential() throws {
        let pool = try SignatureFaults.pool(64, keyCount: 4)
        var faults = SignatureFaults(seed: 1)
        var batch = try verifier()
        var single = try P256Verifier()
        var validCount = 0
        for _ in 0..<2000 {
            let checks = (0..<8).map { _ in faults.next(pool) }
            let verdicts = batch.verify(checks)
            for (index, check) in checks.enumerated() {
                let expected = check.isValid(&single)
                #expect(verdicts[index] == expected, "\(check)")
                if expected { validCount += 1 }
            }
        }
        #expect(validCount > 4000 && validCount < 12_000, "\(validCount)")
    }
}

/// What becomes of a library that is not there, not for this machine, or wrong.
@Suite("A library that verifies batches")
struct MultiBufferLibraryTests {}

extension MultiBufferLibraryTests {
    @Test("is not used where it is missing, lacks the function, or is not for the processor")
    func unusable() throws {
        #expect {
            try MultiBufferLibrary(at: "/nowhere/libcrypto_mb.so.13")
        } throws: { error in
            guard case .notFound(let text) = error as? MultiBufferFailure else { return false }
            return text.contains("/nowhere/libcrypto_mb.so.13")
        }
        #expect {
            try StandInLibrary.open(.symbolMissing)
        } throws: { error in
            guard case .symbolMissing = error as? MultiBufferFailure else { return false }
            return "\(error)".hasSuffix("lacks mbx_nistp256_ecdsa_verify_mb8")
        }
        #expect {
            try StandInLibrary.open(.applicabilityMissing)
        } throws: { error in
            "\(error)".hasSuffix("lacks mbx_is_crypto_mb_applicable")
        }
        #expect(throws: MultiBufferFailure.processor) { try StandInLibrary.open(.notApplicable) }
    }

    /// What is loaded of a file that lacks a part ends the process when it is touched, and a pipe
    /// would be waited for.
    @Test("is not loaded where the file is not a whole library")
    func notWhole() throws {
        let directory = try ScratchDirectory()
        let library = try StandInLibrary.make(in: directory)
        let bytes = try #require(FileManager.default.contents(atPath: library))
        let copy = directory.path(of: "copy.so")
        func failure() throws -> String {
            let error = #expect(throws: MultiBufferFailure.self) {
                try MultiBufferLibrary(at: copy)
            }
            return try #require(error).description
        }
        for count in [0, 40, 100, bytes.count / 4, bytes.count / 2] {
            try bytes.prefix(count).write(to: URL(fileURLWithPath: copy))
            #expect(try failure().hasSuffix("\(copy): is not a library, or not a whole one"))
        }
        try FileManager.default.removeItem(atPath: copy)
        #expect(mkfifo(copy, 0o600) == 0)
        #expect(try failure().hasSuffix("\(copy): is not a regular file"))
        try FileManager.default.removeItem(atPath: copy)
        #expect(try failure().hasSuffix("\(copy): No such file or directory"))
        try bytes.write(to: URL(fileURLWithPath: copy))
        #expect(try MultiBufferLibrary(at: copy).isTrusted)
    }

    @Test("is not used where it fails the test of known answers")
    func knownAnswers() throws {
        #expect(throws: MultiBufferFailure.knownAnswer) { try StandInLibrary.open(.alwaysValid) }
        #expect(try StandInLibrary.open().isTrusted)
    }

    @Test(
        "loses all trust with the first wrong verdict that is repeated, which does not count",
        arguments: [
            StandInLibrary.Fault.validForStrangers, .invalidForStrangers, .shiftedForStrangers,
        ])
    func audited(_ fault: StandInLibrary.Fault) throws {
        let library = try StandInLibrary.open(fault)
        var batch = try P256BatchVerifier(library: library, auditPercent: 100)
        var checks = try SignatureFaults.pool(8, keyCount: 4)
        checks[3] = checks[3].with(digest: .zero)
        #expect(library.isTrusted)
        #expect(library.takeLossOfTrust() == nil)
        for _ in 0..<2 {
            let verdicts = batch.verify(checks)
            for index in 0..<8 { #expect(verdicts[index] == (index != 3)) }
        }
        #expect(!library.isTrusted)
        #expect(batch.batchCount(of: 8) == 1)
        // Told once, by whoever asks first.
        #expect(library.takeLossOfTrust() == .otherVerdict)
        #expect(library.takeLossOfTrust() == nil)
    }

    @Test("is wrong in secret where nobody repeats its verdicts")
    func unaudited() throws {
        let library = try StandInLibrary.open(.validForStrangers)
        var batch = try P256BatchVerifier(library: library, auditPercent: 0)
        let bad = try SignatureFaults.pool(8, keyCount: 4).map { $0.with(digest: .zero) }
        #expect(batch.verify(bad)[0])
        #expect(library.isTrusted)
    }

    @Test("loses all trust with a wrong verdict on a lane that nobody needs")
    func filler() throws {
        let library = try StandInLibrary.open(.invalidBesideStrangers)
        var batch = try P256BatchVerifier(library: library, auditPercent: 0)
        let checks = try SignatureFaults.pool(6, keyCount: 4)
        let verdicts = batch.verify(checks)
        for index in 0..<6 { #expect(verdicts[index]) }
        #expect(!library.isTrusted)
    }

    /// A verifier of a library that has been honest so far, with batches of `count` good
    /// signatures, and is no longer.
    private func verifier(
        _ library: MultiBufferLibrary, afterBatchesOf count: Int, auditPercent: Int = 0
    ) throws -> P256BatchVerifier {
        var batch = try P256BatchVerifier(
            library: library, auditPercent: auditPercent, laneCountMin: 1)
        let checks = try SignatureFaults.pool(count, keyCount: 4)
        for _ in 0..<StandInLibrary.honestCallCount {
            let verdicts = batch.verify(checks)
            for index in 0..<count { #expect(verdicts[index]) }
        }
        #expect(library.isTrusted)
        return batch
    }

    @Test(
        "lets no forgery in once it accepts everything, if the batch is not full", arguments: 1...7)
    func acceptsEverything(count: Int) throws {
        let library = try StandInLibrary.open(.laterValid)
        var batch = try verifier(library, afterBatchesOf: count)
        let forged = try SignatureFaults.pool(count, keyCount: 4).map { $0.with(digest: .zero) }
        let verdicts = batch.verify(forged)
        for index in 0..<count { #expect(!verdicts[index]) }
        #expect(library.distrust == .knownWrong)
    }

    @Test(
        "locks nobody out once it refuses everything, if two lanes are free", arguments: 1...6)
    func refusesEverything(count: Int) throws {
        let library = try StandInLibrary.open(.laterInvalid)
        var batch = try verifier(library, afterBatchesOf: count)
        let verdicts = batch.verify(try SignatureFaults.pool(count, keyCount: 4))
        for index in 0..<count { #expect(verdicts[index]) }
        #expect(!library.isTrusted)
    }

    /// Where all signatures are good, no verdict on one of them shows it.
    @Test("is found out by full batches of good signatures once it accepts everything")
    func acceptsEverythingInFullBatches() throws {
        let library = try StandInLibrary.open(.laterValid)
        var batch = try verifier(library, afterBatchesOf: 8, auditPercent: 10)
        let checks = try SignatureFaults.pool(8, keyCount: 4)
        var batchCount = 0
        // All are missed once in 10^45.
        while library.isTrusted, batchCount < 1000 {
            let verdicts = batch.verify(checks)
            for index in 0..<8 { #expect(verdicts[index]) }
            batchCount += 1
        }
        #expect(!library.isTrusted)
    }

    @Test("leaves to OpenSSL what it cannot say, and is trusted on")
    func unknown() throws {
        let library = try StandInLibrary.open(.unknownForStrangers)
        var batch = try P256BatchVerifier(library: library, auditPercent: 0)
        var checks = try SignatureFaults.pool(8, keyCount: 4)
        checks[5] = checks[5].with(digest: .zero)
        let verdicts = batch.verify(checks)
        for index in 0..<8 { #expect(verdicts[index] == (index != 5)) }
        #expect(library.isTrusted)
        #expect(batch.takeUndecidedCount() == 8)
        #expect(batch.takeUndecidedCount() == 0)
    }

    @Test("is not asked any more once it could not judge 64 signatures in a row")
    func undecided() throws {
        let library = try StandInLibrary.open(.laterUnknown)
        var batch = try verifier(library, afterBatchesOf: 8)
        let checks = try SignatureFaults.pool(8, keyCount: 4)
        for _ in 0..<8 {
            #expect(library.isTrusted)
            let verdicts = batch.verify(checks)
            for index in 0..<8 { #expect(verdicts[index]) }
            #expect(batch.takeUndecidedCount() == 8)
        }
        #expect(library.takeLossOfTrust() == .undecided)
        let reason = try #require(library.distrust)
        #expect(reason.text(about: "it") == "it could not judge any of 64 signatures in a row")
        #expect(!reason.isAboutVerdicts)
    }

    @Test("is not asked any more once it cannot judge a signature whose verdict is known")
    func knownUndecided() throws {
        let library = try StandInLibrary.open(.laterUnknown)
        var batch = try verifier(library, afterBatchesOf: 5)
        let verdicts = batch.verify(try SignatureFaults.pool(5, keyCount: 4))
        for index in 0..<5 { #expect(verdicts[index]) }
        #expect(library.takeLossOfTrust() == .knownUndecided)
    }

    @Test("is found out within some thousand verdicts where one in a hundred is repeated")
    func sampled() throws {
        let library = try StandInLibrary.open(.validForStrangers)
        var batch = try P256BatchVerifier(library: library, auditPercent: 1)
        let bad = try SignatureFaults.pool(8, keyCount: 4).map { $0.with(digest: .zero) }
        var batchCount = 0
        // 8,000 verdicts: all are missed once in 10^34.
        while library.isTrusted, batchCount < 1000 {
            _ = batch.verify(bad)
            batchCount += 1
        }
        #expect(!library.isTrusted)
    }
}
