import Bytes
import Settings
import Testing

@Suite("ChallengeKeys")
struct ChallengeKeysTests {}

extension ChallengeKeysTests {
    private static func key(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

    private func parse(_ text: String) -> Result<[[UInt8]], ConfigurationProblems> {
        ChallengeKeys.parse(Array(text.utf8), fileName: "k")
    }

    @Test("keeps the order, skips comments and empty lines")
    func order() throws {
        let text =
            "# now\n\(Base64.encode(Self.key(1)))\r\n\n  \(Base64.encode(Self.key(2)))  \n# old\n"
            + Base64.encodeURL(Self.key(3))
        #expect(try parse(text).get() == [Self.key(1), Self.key(2), Self.key(3)])
    }

    @Test("names every line that is wrong, and shows none")
    func problems() {
        let good = Base64.encode(Self.key(1))
        let text = "\(good)\nnot base64!\n\(Base64.encode([1, 2, 3]))\n\(good)\n\(good)=\n"
        guard case .failure(let failure) = parse(text) else {
            Issue.record("accepted")
            return
        }
        #expect(
            failure.problems.map(\.description) == [
                "k:2:1: not base64", "k:3:1: a key of 3 bytes: 32 are needed",
                "k:4:1: the same key again", "k:5:1: not base64",
            ])
    }

    @Test("needs a key, and not too many", arguments: ["", "\n\n", "# none\n"])
    func none(text: String) {
        guard case .failure(let failure) = parse(text) else {
            Issue.record("accepted")
            return
        }
        #expect(
            failure.description
                == "k: holds no key: write base64 of 32 random bytes on a line")
    }

    @Test("bounds their number")
    func many() {
        let lines = (0..<17).map { Base64.encode(Self.key($0)) }
        guard case .failure(let failure) = parse(lines.joined(separator: "\n")) else {
            Issue.record("accepted")
            return
        }
        #expect(failure.description == "k: holds more than 16 keys")
    }
}
