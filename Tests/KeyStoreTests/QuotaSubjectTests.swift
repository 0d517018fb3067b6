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
            (.key(keyID), "87ead3cc70ce8f49f8c8264a2d2ef773"),
            (.user(UserPseudonym(value: pseudonym)), "7a6e3b6983e8020560aa0cbb2a600436"),
            (.network(pseudonym), "44a2cc38213fddbbef009948ee2e4bed"),
            (.app("ABCDE12345.com.example.app"), "cc4021857b8697b3cda5977674c65a5b"),
            (.installation(InstallationID(value: pseudonym)), "c7f01848caf948becdd0eff490b9ae93"),
            (.unknown, "3820ab24fcd76f5fbce14f82997e20db"),
        ]
        for (subject, name) in names {
            #expect(Hex.encode(subject.countName(ofQuota: "daily", per: "day").array) == name)
        }
    }

    @Test("names each quota, period and subject in its own way")
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
                    names.insert(subject.countName(ofQuota: quota, per: unit))
                }
            }
        }
        #expect(names.count == subjects.count * 6)
    }
}
