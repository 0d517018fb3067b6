import Bytes
import Crypto
import EventLoop

/// A file that a gateway writes for the next one. Its first line is the SHA-256 of the rest in
/// base64, so that a damaged file is not believed.
enum DigestedFile {
    private static let lineFeed = UInt8(ascii: "\n")
    /// The first line: 44 characters and the line feed.
    private static let lineByteCount = 45

    /// Writes the text for the owner alone. Blocks.
    static func write(_ path: String, _ text: [UInt8]) throws(IOError) {
        let digest = Array(Base64.encode(SHA256.hash(text).array).utf8)
        try File.write(path, digest + [lineFeed] + text, mode: 0o600)
    }

    /// Reads a text of at most `byteCountMax` bytes. Blocks. Nil if there is no file.
    static func read(
        _ path: String, byteCountMax: Int
    ) throws(DigestedFileError) -> ArraySlice<UInt8>? {
        let bytes: [UInt8]
        do throws(IOError) {
            let file = try RegularFile(path)
            guard File.isOnlyOwners(path) else { throw IOError(path, .openToOthers) }
            bytes = try file.read(byteCountMax: byteCountMax + lineByteCount)
        } catch {
            if error.reason == .notFound { return nil }
            throw DigestedFileError("\(error)")
        }
        let parts = bytes.split(separator: lineFeed, maxSplits: 1)
        guard parts.count == 2, let digest = Base64.decode(Array(parts[0]).span),
            digest == SHA256.hash(Array(parts[1])).array
        else { throw DigestedFileError("\(path): is damaged") }
        return parts[1]
    }
}

/// The reason why a file of an earlier gateway is not used.
package struct DigestedFileError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
