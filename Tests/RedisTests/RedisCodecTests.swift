import Bytes
import Redis
import Testing

@Suite("The Redis protocol")
struct RedisCodecTests {}

extension RedisCodecTests {
    private static func replies(
        _ pieces: [String], byteCountMax: Int = 4096
    ) throws(RedisProtocolError) -> [RedisReply] {
        var reader = RedisReplyReader(byteCountMax: byteCountMax)
        var replies: [RedisReply] = []
        for piece in pieces {
            try reader.feed(Array(piece.utf8).span)
            while let reply = try reader.next() { replies.append(reply) }
        }
        return replies
    }

    private static let conversation =
        "+OK\r\n-ERR no\r\n:-9223372036854775808\r\n$5\r\nhe\r\no\r\n$-1\r\n*-1\r\n$0\r\n\r\n"
        + "*3\r\n:1\r\n*2\r\n+a\r\n$-1\r\n$1\r\nz\r\n*0\r\n:12\r\n"
    private static let meaning: [RedisReply] = [
        .simpleString("OK"), .error("ERR no"), .integer(.min), .bulk(Array("he\r\no".utf8)), .null,
        .null, .bulk([]),
        .array([.integer(1), .array([.simpleString("a"), .null]), .bulk([0x7A])]), .array([]),
        .integer(12),
    ]

    @Test("is read whole")
    func whole() throws {
        #expect(try Self.replies([Self.conversation]) == Self.meaning)
    }

    @Test("is read wherever the network cuts it")
    func cut() throws {
        #expect(try Self.replies(Self.conversation.map(String.init)) == Self.meaning)
        let bytes = Array(Self.conversation)
        for cut in bytes.indices {
            let pieces = [String(bytes[..<cut]), String(bytes[cut...])]
            #expect(try Self.replies(pieces) == Self.meaning)
        }
    }

    @Test(
        "is refused where it is broken",
        arguments: [
            "HTTP/1.1 200 OK\r\n", "\r\n", "\0", ":abc\r\n", ":1x\r\n", ":\r\n",
            ":99999999999999999999\r\n", "$x\r\n", "$-2\r\n", "$9999999999999999999999\r\n",
            "*x\r\n", "*-2\r\n", "*16385\r\n", "*1000000000\r\n", "*99999999999999999999\r\n",
            "*1\r\n!\r\n", "*2\r\n:1\r\n*2147483647\r\n",
            String(repeating: "*1\r\n", count: 10) + ":1\r\n",
        ])
    func broken(text: String) {
        #expect(throws: RedisProtocolError.self) { try Self.replies([text]) }
    }

    @Test("is refused where a reply does not end")
    func tooLong() throws {
        let endless: [String] = [
            "+" + String(repeating: "x", count: 5000),
            "$2147483647\r\n" + String(repeating: "x", count: 5000),
            "*1000\r\n" + String(repeating: ":1\r\n", count: 999) + "+"
                + String(
                    repeating: "x", count: 2000),
        ]
        for text in endless {
            #expect(throws: RedisProtocolError.replyTooLong(byteCountMax: 4096)) {
                try Self.replies([text])
            }
        }
        // Many short replies at once are no long one.
        let many = String(repeating: ":1\r\n", count: 5000)
        #expect(try Self.replies([many, many]).count == 10_000)
    }

    @Test("survives any bytes")
    func anyBytes() {
        var random = SeededNumbers(seed: 7)
        let alphabet = Array("+-:$*0123\r\n\r\n\r\nab".utf8)
        for _ in 0..<3000 {
            var reader = RedisReplyReader(byteCountMax: 200)
            do {
                for _ in 0..<10 {
                    let chunk = (0..<Int.random(in: 1...20, using: &random)).map { _ in
                        alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
                    }
                    try reader.feed(chunk.span)
                    while try reader.next() != nil {}
                }
            } catch {
                // A refusal is an answer; the test is that nothing traps or leaks.
            }
        }
    }

    @Test("carries commands whatever their arguments hold")
    func commands() {
        func written(_ command: RedisCommand) -> String {
            var output = ByteBuffer()
            command.write(to: &output)
            return String(decoding: output.readable.array, as: UTF8.self)
        }
        #expect(written(RedisCommand("PING")) == "*1\r\n$4\r\nPING\r\n")
        var command = RedisCommand("SET", "", "a\r\nb")
        command.append(-12)
        command.append(argumentsOf: RedisCommand("AB", "0123456789"))
        #expect(
            written(command)
                == "*6\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\na\r\nb\r\n$3\r\n-12\r\n$2\r\nAB\r\n"
                + "$10\r\n0123456789\r\n")
        command.clear()
        command.append("")
        #expect(written(command) == "*1\r\n$0\r\n\r\n")
    }

    @Test(
        "tells by an error's first word whether anything ran",
        arguments: [
            ("NOSCRIPT No matching script.", .noScript), ("NOSCRIPT", .noScript),
            ("READONLY You can't write against a read only replica.", .refusedByConnection),
            ("LOADING Redis is loading the dataset in memory", .refusedByConnection),
            ("OOM command not allowed", .refused), ("ERR READONLY", .other), ("", .other),
            ("READONLYX", .other),
        ] as [(String, RedisServerError)])
    func errors(line: String, kind: RedisServerError) {
        #expect(RedisServerError(line) == kind)
    }
}

/// The same numbers for the same seed (SplitMix64).
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
