import Attestation
import Bytes
import KeyStore
import Testing

@Suite("QuotaSubject")
struct QuotaSubjectTests {
    private let keyID = KeyID(digest: Bytes32(word0: 1, word1: 2, word2: 3, word3: 4))
}

extension QuotaSubjectTests {
    /// Budgets outlast an upgrade only if these stay as they are.
    @Test("names a count as every version does")
    func knownNames() {
        let pseudonym = Bytes16(word0: 5, word1: 6)
        let names: [(QuotaSubject, String)] = [
            (.key(keyID), "72aee19a98edf8ea20d011e26c2d1955"),
            (.user(UserPseudonym(value: pseudonym)), "93ccb0ae42edc1f46634c2a7dc5b23f7"),
            (.network(pseudonym), "95d6b5436fde9163384b1660288fbc62"),
            (.app("ABCDE12345.com.example.app"), "3ac867e6348272b32855b66288f14aa1"),
            (.installation(InstallationID(value: pseudonym)), "d5910d665e765becb9d4d0ee266be0af"),
            (.unknown, "37173b67a8c85558159d596fe1a67d31"),
        ]
        for (subject, name) in names {
            let known = subject.countName(ofQuota: "daily", per: "day", of: "requests")
            #expect(Hex.encode(known.array) == name)
        }
    }

    @Test("names each quota, period, measure and subject in its own way")
    func distinctNames() {
        let subjects: [QuotaSubject] = [
            .key(keyID), .user(UserPseudonym(value: .init(word0: 1, word1: 2))),
            .network(Bytes16(word0: 1, word1: 2)), .app("a"), .app("b"), .app(""), .unknown,
            .installation(InstallationID(value: Bytes16(word0: 1, word1: 2))),
        ]
        var names: Set<Bytes16> = []
        for subject in subjects {
            for quota in ["daily", "dail", "daily.day"] {
                for unit in ["day", "hour"] {
                    for measure in ["requests", "json /key"] {
                        names.insert(
                            subject.countName(ofQuota: quota, per: unit, of: measure))
                    }
                }
            }
        }
        #expect(names.count == subjects.count * 12)
    }
}
