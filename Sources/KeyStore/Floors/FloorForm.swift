import Attestation
import Bytes

/// The form of a file of floors: a magic word, then places of eight words, each the key id, then
/// counter and check, then nothing. A place that a power cut left torn fails its check and is left
/// out.
enum FloorForm {
    /// The magic word. Another layout gets another word, so that no version reads what it does not
    /// understand.
    static let magic: UInt64 = 0x7370_666C_6F6F_7231
    static let placeWordCount = 8
    static let placeByteCount = placeWordCount * 8
    /// The most places: a GiB of addresses, not of memory. Further keys are kept in memory alone.
    static let placeCountMax = 1 << 24
    static let byteCountMax = placeCountMax * placeByteCount
    static let markWord = 4

    /// The five words of a place that are not 0.
    static func words(
        _ counter: UInt32, of keyID: KeyID
    ) -> (UInt64, UInt64, UInt64, UInt64, UInt64) {
        let digest = keyID.digest
        return (digest.word0, digest.word1, digest.word2, digest.word3, mark(counter, of: keyID))
    }

    private static func mark(_ counter: UInt32, of keyID: KeyID) -> UInt64 {
        let digest = keyID.digest
        var mixed = digest.word0 ^ digest.word1 &* 3 ^ digest.word2 &* 5 ^ digest.word3 &* 7
        mixed = (mixed ^ UInt64(counter)) &* 0x9E37_79B9_7F4A_7C15
        // Never 0, which marks an empty place.
        return UInt64(counter) << 32 | (mixed >> 32) | 1
    }

    /// Appends a place as a file holds it, in the machine's byte order; nil for an empty one.
    static func append(_ floor: (counter: UInt32, keyID: KeyID)?, to bytes: inout [UInt8]) {
        let words = floor.map { Self.words($0.counter, of: $0.keyID) } ?? (0, 0, 0, 0, 0)
        for word in [words.0, words.1, words.2, words.3, words.4, 0, 0, 0] {
            append(word, to: &bytes)
        }
    }

    /// The first place of every file.
    static var heading: [UInt8] {
        var bytes: [UInt8] = []
        append(magic, to: &bytes)
        return bytes + [UInt8](repeating: 0, count: placeByteCount - bytes.count)
    }

    private static func append(_ word: UInt64, to bytes: inout [UInt8]) {
        bytes.append(bigEndian: word.littleEndian.byteSwapped)
    }

    /// The floors in the bytes of a file. Throws ``FloorFileError/foreign(path:)`` if they have
    /// another form. An empty file has none.
    static func floors(
        in bytes: [UInt8], path: String
    ) throws(FloorFileError) -> [(keyID: KeyID, counter: UInt32)] {
        if bytes.isEmpty { return [] }
        var floors: [(keyID: KeyID, counter: UInt32)] = []
        let words = bytes.count / 8
        let span = bytes.span
        func word(_ index: Int) -> UInt64 { span.bigEndianWord(at: index * 8).byteSwapped }
        guard words >= placeWordCount, word(0) == magic else { throw .foreign(path: path) }
        for place in 1..<max(1, words / placeWordCount) {
            let first = place * placeWordCount
            let found = word(first + markWord)
            guard found != 0 else { continue }
            let keyID = KeyID(
                digest: Bytes32(
                    word0: word(first), word1: word(first + 1), word2: word(first + 2),
                    word3: word(first + 3)))
            let counter = UInt32(found >> 32)
            if found == mark(counter, of: keyID) { floors.append((keyID, counter)) }
        }
        return floors
    }
}
