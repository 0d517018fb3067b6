public import Attestation
public import Bytes
import Crypto

/// Makes the names that stand for keys and users where their own must not appear: HMACs, which
/// cannot be made, told apart from noise, or reversed without the secret.
///
/// Those of keys are short, because they are for logs: 64 bits. The chance that two of ten million
/// keys have the same is 1 to 370,000.
public struct Pseudonyms: Sendable {
    private struct Generation: Sendable {
        let keys: HMACKey
        let users: HMACKey
        let signals: HMACKey

        init(_ secret: [UInt8]) {
            let master = HMACKey(secret)
            func derived(_ label: String) -> HMACKey {
                HMACKey(HMACSHA256.authenticate(Array(label.utf8), key: master))
            }
            keys = derived("sallyport key pseudonym")
            users = derived("sallyport user pseudonym")
            signals = derived("sallyport signal pseudonym")
        }

        func pseudonym(of keyID: KeyID) -> Pseudonym {
            Pseudonym(value: HMACSHA256.authenticate(keyID.digest, key: keys).word0)
        }

        /// The pseudonym of a user. It is long because it is for stores, in which two users must
        /// never be one.
        func pseudonym(ofUser name: Span<UInt8>) -> UserPseudonym {
            let code = HMACSHA256.authenticate(name, key: users)
            return UserPseudonym(value: Bytes16(word0: code.word0, word1: code.word1))
        }
    }

    private let generations: [Generation]

    /// `secrets`: 32 bytes each. The first one makes pseudonyms; those of all are recognised. Nil
    /// for none or another length. Keys of challenges may be given, because only derived keys are
    /// used.
    public init?(secrets: [[UInt8]]) {
        guard !secrets.isEmpty, secrets.allSatisfy({ $0.count == 32 }) else { return nil }
        generations = secrets.map(Generation.init)
    }

    public func pseudonym(of keyID: KeyID) -> Pseudonym { generations[0].pseudonym(of: keyID) }

    /// True if `pseudonym` stands for `keyID` under any of the secrets.
    public func isPseudonym(_ pseudonym: Pseudonym, of keyID: KeyID) -> Bool {
        generations.contains { $0.pseudonym(of: keyID) == pseudonym }
    }

    public func pseudonym(ofUser name: Span<UInt8>) -> UserPseudonym {
        generations[0].pseudonym(ofUser: name)
    }

    /// The pseudonym of a signal's subject, for counting by all gateways together.
    public func pseudonym(ofSignal label: StaticString, _ subject: [UInt8]) -> Bytes16 {
        let message = Array(label.description.utf8) + [0] + subject
        let code = HMACSHA256.authenticate(message.span, key: generations[0].signals)
        return Bytes16(word0: code.word0, word1: code.word1)
    }

    /// A number that stands for a network when different ones are counted, the same on every
    /// gateway. Without the secret it cannot be told which networks count as one.
    public func hash(ofNetwork network: Bytes16) -> UInt64 {
        let message = Bytes32(word0: network.word0, word1: network.word1, word2: 0, word3: 0)
        return HMACSHA256.authenticate(message, key: generations[0].signals).word0
    }

    /// The pseudonyms of a user, one for each secret.
    public func pseudonyms(ofUser name: Span<UInt8>) -> [UserPseudonym] {
        var all: [UserPseudonym] = []
        for generation in generations { all.append(generation.pseudonym(ofUser: name)) }
        return all
    }
}

/// The name that stands for a key: 16 hexadecimal digits.
public struct Pseudonym: Hashable, Sendable, CustomStringConvertible {
    public let value: UInt64

    public init(value: UInt64) { self.value = value }

    /// Parses a pseudonym. Nil for anything but 16 hexadecimal digits.
    public init?(_ text: String) {
        guard text.utf8.count == 16, text.utf8.allSatisfy({ Hex.value($0) != nil }),
            let value = UInt64(text, radix: 16)
        else { return nil }
        self.value = value
    }

    public var description: String { Hex.encode(value) }
}
