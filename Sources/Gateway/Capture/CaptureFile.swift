import Bytes
import Crypto

/// The names of the files in `capture.directory`, made of the time and the request.
package enum CaptureFile {
    /// The name of a file. A hash stands for the request id, because a proxy's id may hold
    /// characters that no file name should.
    package static func name(milliseconds: Int64, requestID: String) -> String {
        let digits = String(max(0, milliseconds))
        let zeros = String(repeating: "0", count: max(0, timeDigitCount - digits.count))
        return zeros + digits + suffix(requestID: requestID)
    }

    /// The end of the names of all files for this request.
    package static func suffix(requestID: String) -> String {
        let digest = SHA256.hash(Array(requestID.utf8)).array[..<16]
        let digits = digest.map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return "-" + digits.joined() + ".json"
    }

    /// True if a name is one of these. Other files in the directory are left alone.
    package static func isName(_ name: some StringProtocol) -> Bool {
        let bytes = Array(name.utf8)
        guard bytes.count == timeDigitCount + 1 + 32 + 5, bytes[timeDigitCount] == 0x2D,
            name.hasSuffix(".json")
        else { return false }
        let digits = bytes[..<timeDigitCount].allSatisfy { (0x30...0x39).contains($0) }
        return digits
            && bytes[(timeDigitCount + 1)..<(bytes.count - 5)].allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
            }
    }

    /// With this many digits, the names sorted as text are sorted by time, until the year 33658.
    private static let timeDigitCount = 15
    /// The largest file that is read: a request body and its base64, with room to spare.
    package static let byteCountMax = 4 << 20
}
