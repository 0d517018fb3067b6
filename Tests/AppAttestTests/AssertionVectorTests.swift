import AppAttest
import AppAttestTesting
import Bytes
import Crypto
import Testing

@Suite(
    "Assertions of real devices", .enabled(if: Vectors.arePresent, Vectors.absent))
struct AssertionVectorTests {}

extension AssertionVectorTests {
    private func verify(
        _ vector: Vector, object: [UInt8]? = nil, clientDataHash: [UInt8]? = nil,
        rpIDHash: Bytes32? = nil
    ) throws -> Result<VerifiedAssertion, AssertionFailure> {
        let publicKey = try #require(vector.point)
        var verifier = try AssertionVerifier()
        let object = object ?? vector.objectBytes
        do throws(AssertionFailure) {
            return .success(
                try verifier.verify(
                    object.span, clientDataHashBytes: clientDataHash ?? vector.clientDataHashBytes,
                    publicKey: publicKey, rpIDHash: rpIDHash ?? vector.app.rpIDHash))
        } catch {
            return .failure(error)
        }
    }

    @Test("get their recorded verdict", arguments: Vectors.assertions)
    func verdict(vector: Vector) throws {
        switch try verify(vector) {
        case .success(let verified):
            #expect(vector.isAccepted)
            #expect(verified.counter == vector.counter)
            #expect(verified.rpIDHash == vector.app.rpIDHash)
            #expect((verified.extensions == nil) == (vector.extensions == nil))
        case .failure(let failure):
            let rejection = try #require(vector.rejection, "\(failure)")
            #expect(failure.code.hasPrefix(rejection))
        }
    }

    @Test(
        "are accepted alike by the path that takes the digest inline",
        arguments: Vectors.assertions.filter { $0.isAccepted })
    func inlineDigest(vector: Vector) throws {
        let publicKey = try #require(vector.point)
        let hash = try #require(Bytes32(vector.clientDataHashBytes))
        var verifier = try AssertionVerifier()
        let object = vector.objectBytes
        let verified = try verifier.verify(
            object.span, clientDataHash: hash, publicKey: publicKey,
            rpIDHash: vector.app.rpIDHash)
        #expect(verified.counter == vector.counter)
    }

    @Test(
        "are refused for other client data, another app and another key",
        arguments: Vectors.assertions.filter { $0.isAccepted })
    func others(vector: Vector) throws {
        let other = SHA256.hash([0])
        #expect(
            try verify(vector, clientDataHash: other.array) == .failure(.signatureInvalid))
        #expect(try verify(vector, rpIDHash: other) == .failure(.appMismatch))
        let stranger = try #require(
            Vectors.assertions.first { $0.point != vector.point }?.point)
        var verifier = try AssertionVerifier()
        let object = vector.objectBytes
        #expect(throws: AssertionFailure.signatureInvalid) {
            try verifier.verify(
                object.span, clientDataHashBytes: vector.clientDataHashBytes,
                publicKey: stranger, rpIDHash: vector.app.rpIDHash)
        }
    }

    @Test(
        "never trap and never change their meaning when damaged",
        arguments: Vectors.assertions.filter { $0.isAccepted })
    func damaged(vector: Vector) throws {
        var generator = SplitMix64(state: UInt64(vector.counter ?? 0) &* 0x9E37)
        let whole = vector.objectBytes
        for _ in 0..<300 {
            let object = generator.damage(whole)
            guard case .success(let verified) = try verify(vector, object: object) else {
                continue
            }
            // Only what nobody signs may differ, and there is nothing of it in these.
            #expect(verified.counter == vector.counter)
            #expect(object == whole)
        }
    }
}

extension SplitMix64 {
    /// Cuts, flips, inserts or repeats a few bytes.
    mutating func damage(_ whole: [UInt8]) -> [UInt8] {
        var bytes = whole
        for _ in 0..<Int.random(in: 1...3, using: &self) where !bytes.isEmpty {
            let index = Int.random(in: 0..<bytes.count, using: &self)
            switch Int.random(in: 0..<6, using: &self) {
            case 0: bytes.removeLast(bytes.count - index)
            case 1: bytes.insert(UInt8.random(in: 0...255, using: &self), at: index)
            case 2: bytes.remove(at: index)
            case 3: bytes.append(contentsOf: bytes[index...].prefix(64))
            default: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            }
        }
        return bytes
    }
}
