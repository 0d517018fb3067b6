import Protobuf
import Questions
import Testing

/// The messages of Envoy's API, as far as they count here.
@Suite("Envoy's messages")
struct EnvoyMessageTests {}

extension EnvoyMessageTests {
    /// A `CheckRequest` whose `HttpRequest` is written by `write`.
    private func check(
        extensions: [(String, String)] = [], client: String? = nil,
        _ write: (inout ProtobufWriter) -> Void
    ) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.message(1) { context in
            if let client {
                context.message(1) { source in
                    source.message(1) { $0.message(1) { $0.string(2, client) } }
                }
            }
            context.message(4) { $0.message(2, write) }
            for (name, value) in extensions {
                context.message(10) { entry in
                    entry.string(1, name)
                    entry.string(2, value)
                }
            }
        }
        return writer.bytes
    }

    private func write(
        _ method: String, _ fields: [(String, String)] = [], body: String? = nil,
        to http: inout ProtobufWriter
    ) {
        http.string(2, method)
        for (name, value) in fields {
            http.message(3) { entry in
                entry.string(1, name)
                entry.string(2, value)
            }
        }
        http.string(4, "/x?y=1")
        http.string(5, "api.example")
        if let body { http.string(12, body) }
    }

    @Test("a CheckRequest says what is asked about, and who the client is")
    func asked() throws {
        let bytes = check(client: "192.0.2.7") {
            write("GET", [(":path", "/other"), ("a", "1")], to: &$0)
        }
        let question = try EnvoyCheck.read(bytes.span)
        #expect(question.asked.method == Array("GET".utf8))
        #expect(question.asked.target == Array("/x?y=1".utf8))
        #expect(question.asked.host == Array("api.example".utf8))
        #expect(question.asked.fields.map(\.name) == [Array("a".utf8)])
        #expect(question.asked.client == [192, 0, 2, 7] && question.asked.body == .shown)
        #expect(try EnvoyCheck.read(check { write("GET", to: &$0) }.span).asked.client == nil)
    }

    @Test("a body counts as seen only where it is said to be whole")
    func bodies() throws {
        let name = "x-envoy-auth-partial-body"
        func body(
            _ method: String, _ fields: [(String, String)] = [], body: String? = nil,
            route: String? = nil
        ) throws -> AskedRequest.Body {
            let bytes = check(extensions: route.map { [(name, $0)] } ?? []) {
                write(method, fields, body: body, to: &$0)
            }
            return try EnvoyCheck.read(bytes.span).asked.body
        }
        #expect(try body("GET") == .shown && body("POST") == .hidden)
        #expect(try body("POST", [("content-length", "0")]) == .shown)
        #expect(try body("POST", body: "a") == .hidden && body("GET", body: "a") == .hidden)
        #expect(try body("POST", [(name, "false")], body: "a") == .shown)
        #expect(try body("POST", [(name, "true")], body: "a") == .hidden)
        #expect(try body("POST", route: "false") == .shown)
        #expect(try body("POST", [(name, "true")], body: "a", route: "false") == .hidden)
        #expect(try body("POST", [(name, "false")], body: "a", route: "true") == .hidden)
        // Nobody's word makes a part of it the whole.
        let length = ("content-length", "2")
        #expect(try body("POST", [length], route: "false") == .hidden)
        #expect(try body("POST", [length], body: "a", route: "false") == .hidden)
        #expect(try body("POST", [length, (name, "false")], body: "a") == .hidden)
        #expect(try body("POST", [("content-length", "0")], body: "a", route: "false") == .hidden)
        #expect(try body("POST", [length], body: "ab", route: "false") == .shown)
        #expect(try body("POST", [length, (name, "false")], body: "ab") == .shown)
        #expect(throws: QuestionFault.self) {
            try body("POST", [length, ("content-length", "1")], body: "a", route: "false")
        }
        #expect(throws: QuestionFault.self) { try body("GET", [(name, "no")]) }
        #expect(throws: QuestionFault.self) { try body("GET", [(name, "false"), (name, "true")]) }
    }

    @Test("a CheckRequest that says a thing twice, or not at all, is refused")
    func repeated() {
        let messages = [
            check { $0.string(2, "GET") },
            check {
                write("GET", to: &$0)
                $0.string(2, "POST")
            },
            check {
                write("GET", to: &$0)
                $0.string(4, "/y")
            },
            check {
                write("GET", body: "a", to: &$0)
                $0.string(11, "a")
            },
            check {
                write("GET", [("a", "1")], to: &$0)
                $0.message(13) { $0.message(1) { $0.string(1, "b") } }
            },
            check { write("GET", to: &$0) } + check { write("POST", to: &$0) },
            [], [0x0A], [0x08, 1], [0x0B],
        ]
        for message in messages {
            #expect(throws: QuestionFault.self, "\(message)") {
                _ = try EnvoyCheck.read(message.span)
            }
        }
    }

    @Test("headers that came twice stay apart where Envoy sends them raw")
    func raw() throws {
        let bytes = check { http in
            write("GET", to: &http)
            http.message(13) { map in
                for (name, value) in [("a", "1"), ("a", "2"), (":path", "/x?y=1")] {
                    map.message(1) { pair in
                        pair.string(1, name)
                        pair.string(3, value)
                    }
                }
            }
        }
        let fields = try EnvoyCheck.read(bytes.span).asked.fields
        #expect(fields.map(\.value) == [Array("1".utf8), Array("2".utf8)])
    }

    @Test("frames hold whole messages, uncompressed, of a length that is bounded")
    func frames() throws {
        var messages = GRPCMessages(byteCountMax: 4)
        let sent = GRPCMessages.framed([1, 2]) + GRPCMessages.framed([]) + [0, 0, 0]
        for byte in sent { messages.append([byte].span) }
        #expect(try messages.next() == [1, 2] && messages.next() == [])
        #expect(try messages.next() == nil && messages.hasPart)
        for (frame, code) in [
            ([1, 0, 0, 0, 0], .unimplemented), ([2, 0, 0, 0, 0], .unimplemented),
            ([0, 0, 0, 0, 5], .resourceExhausted), ([0, 255, 255, 255, 255], .resourceExhausted),
        ] as [([UInt8], GRPCStatus.Code)] {
            var messages = GRPCMessages(byteCountMax: 4)
            messages.append(frame.span)
            do throws(GRPCStatus) {
                _ = try messages.next()
                Issue.record("\(frame) is taken")
            } catch {
                #expect(error.code == code)
            }
        }
    }
}
