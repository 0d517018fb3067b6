import AppAttest
import Bytes
import Testing

@testable import Gateway

@Suite("Floors on their way to the registry")
struct FloorBookTests {
    private func key(_ number: UInt64) -> KeyID {
        KeyID(digest: Bytes32(word0: number, word1: 0, word2: 0, word3: 0))
    }

    private func turn(_ book: inout FloorBook) -> [KeyID: UInt32] {
        Dictionary(uniqueKeysWithValues: book.turn().map { ($0.keyID, $0.counter) })
    }

    @Test("leave a whole turn after they were noted, the highest of each key")
    func delay() {
        var book = FloorBook()
        book.note(key(1), 5)
        book.note(key(1), 9)
        book.note(key(1), 7)
        book.note(key(2), 1)
        #expect(turn(&book).isEmpty)
        book.note(key(1), 12)
        #expect(turn(&book) == [key(1): 9, key(2): 1])
        #expect(turn(&book) == [key(1): 12])
        #expect(turn(&book).isEmpty)
    }

    @Test("are bounded; those that are held still rise")
    func bound() {
        var book = FloorBook()
        let count = FloorBook.keyCountMax
        for number in 0..<count + 10 { book.note(key(UInt64(number)), 1) }
        book.note(key(0), 2)
        _ = book.turn()
        let floors = turn(&book)
        #expect(floors.count == count)
        #expect(floors[key(0)] == 2 && floors[key(UInt64(count))] == nil)
    }
}
