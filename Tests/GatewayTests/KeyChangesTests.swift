import Attestation
import Bytes
import KeyStore
import Testing

@testable import Gateway

@Suite("Changes of keys")
struct KeyChangesTests {}

extension KeyChangesTests {
    private func keyID(_ number: UInt64) -> KeyID {
        KeyID(digest: Bytes32(word0: 0, word1: number, word2: 0, word3: 0))
    }

    @Test("are told of the key itself, and not of others")
    func groups() {
        var changes = KeyChanges()
        let before = changes.count
        changes.note(.keys([keyID(1), keyID(2)]))
        #expect(changes.hasChanged(keyID(1), since: before))
        #expect(changes.hasChanged(keyID(2), since: before))
        #expect(!changes.hasChanged(keyID(3), since: before))
        #expect(!changes.hasChanged(keyID(1), since: changes.count))
    }

    @Test("are of every key where they are too many to name", arguments: [true, false])
    func everything(isReplaced: Bool) {
        var changes = KeyChanges()
        changes.note(isReplaced ? .replaced : .everything)
        for number in 0..<300 { #expect(changes.hasChanged(keyID(UInt64(number)), since: 0)) }
    }
}
