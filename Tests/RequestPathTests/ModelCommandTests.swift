import Foundation
import GatewayTesting
import JSON
import Testing

/// `sallyport-lab model`, which stands in for an AI service.
@Suite("The AI service of sallyport-lab", .enabled(if: BuiltProgram.isBuilt))
struct ModelCommandTests {
    private static let authorization = ("Authorization", "Bearer " + ModelServer.key)

    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }
}

extension ModelCommandTests {
    private func post(_ body: [UInt8], to server: ModelServer) throws -> HTTPMessage {
        try RawClient(port: server.port).exchange(
            "POST", ModelServer.target, fields: [Self.authorization], body: body)
    }

    private func json(_ text: some StringProtocol) throws -> JSONValue {
        let bytes = Array(text.utf8)
        return try JSONValue.parse(bytes.span, byteCountMax: 64 * 1024)
    }

    private func usage(_ answer: JSONValue) -> [Int64?] {
        ["prompt_tokens", "completion_tokens", "total_tokens"].map {
            answer["usage"]?[$0]?.integerValue
        }
    }

    @Test("counts the words of all messages and of its answer, which has as many as were asked for")
    func whole() throws {
        let server = try ModelServer(in: directory)
        for (tokenCountMax, words, reason) in [
            (nil, "say it", "stop"), (1, "say", "length"), (5, "say it say it say", "length"),
        ] as [(Int?, String, String)] {
            let answer = try post(
                ModelServer.chat("be  brief", "say it", tokenCountMax: tokenCountMax), to: server)
            #expect(answer.status == 200 && answer["Content-Type"] == "application/json")
            let members = try json(answer.bodyText)
            let choice = members["choices"]?.arrayValue?.first
            #expect(choice?["message"]?["content"]?.stringValue == words)
            #expect(choice?["finish_reason"]?.stringValue == reason)
            let count = Int64(words.split(separator: " ").count)
            #expect(usage(members) == [4, count, 4 + count])
        }
        let line = try server.line(2)
        #expect(line["completion_tokens"]?.integerValue == 5)
        #expect(line["model"]?.stringValue == "gpt-x")
        #expect(line["streamed"]?.boolValue == false && line["ended_early"]?.boolValue == false)
    }

    @Test("sends a word an event, and counts them in the last one if it is asked to")
    func stream() throws {
        let server = try ModelServer(in: directory, ["--interval", "1"])
        for tellsUsage in [false, true] {
            let answer = try post(
                ModelServer.chat(
                    "say it", tokenCountMax: 3, streamed: true, tellsUsage: tellsUsage), to: server)
            #expect(answer.status == 200 && answer["Content-Type"] == "text/event-stream")
            let events = answer.bodyText.components(separatedBy: "\n\n").dropLast()
            #expect(events.allSatisfy { $0.hasPrefix("data: ") && !$0.contains("\n") })
            let data = events.map { $0.dropFirst("data: ".count) }
            #expect(data.last == "[DONE]")
            let values = try data.dropLast().map(json)
            let pieces = values.compactMap {
                $0["choices"]?.arrayValue?.first?["delta"]?["content"]?.stringValue
            }
            #expect(pieces == ["say", " it", " say"])
            #expect(values.count == (tellsUsage ? 5 : 4))
            #expect(usage(values[values.count - 1]) == (tellsUsage ? [2, 3, 5] : [nil, nil, nil]))
            #expect(values.dropLast().allSatisfy { usage($0) == [nil, nil, nil] })
        }
        let line = try server.line(1)
        #expect(line["streamed"]?.boolValue == true && line["ended_early"]?.boolValue == false)
        #expect(line["completion_tokens"]?.integerValue == 3)
    }

    @Test("notices a client that leaves a stream, and says how many tokens it had made")
    func leaving() throws {
        let server = try ModelServer(in: directory, ["--interval", "1"])
        let client = try RawClient(port: server.port)
        try client.send(
            "POST", ModelServer.target, fields: [Self.authorization],
            body: ModelServer.chat("say it", tokenCountMax: 100_000, streamed: true))
        #expect(try client.receiveHead().status == 200)
        _ = try client.receiveBytes(1)
        client.socket.close()
        let line = try server.line(0)
        #expect(line["ended_early"]?.boolValue == true)
        let count = try #require(line["completion_tokens"]?.integerValue)
        #expect((1..<100_000).contains(count))
        // It goes on serving others.
        #expect(try post(ModelServer.chat("say it"), to: server).status == 200)
    }

    @Test("sends a long stream whole to a client that reads slowly")
    func long() throws {
        let server = try ModelServer(in: directory)
        let answer = try RawClient(port: server.port, receiveBufferByteCount: 4096).exchange(
            "POST", ModelServer.target, fields: [Self.authorization],
            body: ModelServer.chat(
                "say it", tokenCountMax: 20_000, streamed: true, tellsUsage: true))
        let events = answer.bodyText.components(separatedBy: "\n\n")
        // The words, the reason for their end, the count, the mark of the end, and what follows it.
        #expect(events.count == 20_000 + 3 + 1)
        #expect(try server.line(0)["completion_tokens"]?.integerValue == 20_000)
    }

    static let refused:
        [(method: String, target: String, key: String?, body: String, status: Int)] =
            [
                ("POST", ModelServer.target, nil, chat, 401),
                ("POST", ModelServer.target, "Bearer " + ModelServer.key + "x", chat, 401),
                ("POST", ModelServer.target, ModelServer.key, chat, 401),
                ("GET", ModelServer.target, bearer, "", 405),
                ("POST", "/v1/models", bearer, chat, 404),
                ("POST", ModelServer.target, bearer, "", 400),
                ("POST", ModelServer.target, bearer, "[]", 400),
                ("POST", ModelServer.target, bearer, #"{"messages":[{"content":"a"}]}"#, 400),
                ("POST", ModelServer.target, bearer, #"{"model":"m","messages":[]}"#, 400),
                (
                    "POST", ModelServer.target, bearer,
                    #"{"model":"m","messages":[{"content":1}]}"#, 400
                ),
                (
                    "POST", ModelServer.target, bearer,
                    #"{"model":"m","messages":[{"content":"a"}],"max_tokens":0}"#, 400
                ),
                (
                    "POST", ModelServer.target, bearer,
                    #"{"model":"m","messages":[{"content":"a"}],"max_completion_tokens":100001}"#,
                    400
                ),
            ]
    private static let bearer = "Bearer " + ModelServer.key
    private static let chat = String(decoding: ModelServer.chat("say it"), as: UTF8.self)

    @Test("refuses requests without its key, and others that it does not understand")
    func refusals() throws {
        let server = try ModelServer(in: directory)
        let client = try RawClient(port: server.port)
        for (index, row) in Self.refused.enumerated() {
            let answer = try client.exchange(
                row.method, row.target, fields: row.key.map { [("Authorization", $0)] } ?? [],
                body: Array(row.body.utf8))
            #expect(answer.status == row.status, "\(row)")
            #expect(try json(answer.bodyText)["error"]?["message"]?.stringValue != nil)
            let line = try server.line(index)
            #expect(line["status"]?.integerValue == Int64(row.status))
            #expect(line["completion_tokens"]?.integerValue == 0)
        }
    }

    @Test("shows the fields that it is told to, and its key to no one")
    func fields() throws {
        let server = try ModelServer(in: directory, ["--show", "X-One,X-Two"])
        _ = try RawClient(port: server.port).exchange(
            "POST", ModelServer.target, fields: [Self.authorization, ("x-one", "1")],
            body: ModelServer.chat("say it"))
        let line = try server.line(0)
        #expect(line["fields"] == .object(["X-One": .string("1"), "X-Two": .null]))
        #expect(!server.text.contains(ModelServer.key))
    }

    @Test(
        "does not start with a file that holds no key",
        arguments: ["", "\n", "two\nlines\n", "a b"])
    func keyFile(text: String) throws {
        let path = try directory.write(text, to: "key")
        let outcome = try ChildProcess.run(BuiltProgram.lab, ["model", "--key", path])
        #expect(outcome.status == .exited(1))
        #expect(outcome.standardError.contains("holds no key"))
    }
}
