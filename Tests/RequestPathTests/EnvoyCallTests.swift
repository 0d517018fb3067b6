import AppAttestTesting
import Attestation
import Bytes
import Crypto
import GatewayTesting
import JSON
import Protobuf
import Testing

/// Envoy's gRPC calls, made by hand.
@Suite("A check listener that speaks gRPC", .enabled(if: BuiltProgram.isBuilt))
struct EnvoyCallTests {
    typealias Fields = [(String, String)]

    private static let checkPath = "/envoy.service.auth.v3.Authorization/Check"
    private static let processPath = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"

    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess
    private let port: UInt16

    private init(
        attest: String = "mode: enforce", from: String = "127.0.0.1",
        counters: String = "embedded", more: [String] = []
    ) throws {
        upstream = try RecordingUpstream()
        port = FreePort.find()
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port, attest: attest)
        configuration.binds = [
            GatewayConfiguration.checkListener(
                "envoy_grpc", port: port, from: from, more: ["protocols: [h2, http/1.1]"])
        ]
        configuration.counters = counters
        configuration.more += more
        gateway = try GatewayProcess(configuration)
    }

    init() throws { try self.init(attest: "mode: enforce") }
}

extension EnvoyCallTests {
    // MARK: what Envoy sends

    private static func framed(_ message: [UInt8]) -> [UInt8] {
        [0] + HTTP2Frame.word(UInt32(message.count)) + message
    }

    private static func map(_ number: Int, _ fields: Fields, _ writer: inout ProtobufWriter) {
        writer.message(number) { map in
            for (name, value) in fields {
                map.message(1) { pair in
                    pair.string(1, name)
                    pair.string(3, value)
                }
            }
        }
    }

    private static func checkRequest(
        _ method: String, _ target: String, _ fields: Fields = [], body: [UInt8]? = nil,
        ofRoute word: String? = nil
    ) -> [UInt8] {
        var writer = ProtobufWriter()
        let name = "x-envoy-auth-partial-body"
        let partial = body == nil ? [] : [(name, "false")]
        writer.message(1) { context in
            context.message(4) { request in
                request.message(2) { http in
                    http.string(2, method)
                    if !target.isEmpty { http.string(4, target) }
                    http.string(5, "api.example")
                    if let body { http.bytes(12, body) }
                    map(13, fields + partial, &http)
                }
            }
            guard let word else { return }
            context.message(10) { entry in
                entry.string(1, name)
                entry.string(2, word)
            }
        }
        return writer.bytes
    }

    private static func head(
        _ method: String, _ target: String, _ fields: Fields = [], isEnd: Bool, mode: UInt64 = 4
    ) -> [UInt8] {
        var writer = ProtobufWriter()
        let pseudo = [(":method", method), (":path", target), (":authority", "api.example")]
        writer.message(2) { head in
            map(1, pseudo + fields, &head)
            head.flag(3, isEnd)
        }
        writer.message(11) { $0.number(1, mode) }
        return writer.bytes
    }

    private static func body(_ bytes: [UInt8], isEnd: Bool) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.message(4) { body in
            body.bytes(1, bytes)
            body.flag(2, isEnd)
        }
        return writer.bytes
    }

    /// Sends `bytes` in frames of a size that every server takes.
    private static func send(_ bytes: [UInt8], on client: HTTP2Client) throws {
        for start in stride(from: 0, to: bytes.count, by: 16_000) {
            let piece = Array(bytes[start..<min(bytes.count, start + 16_000)])
            try client.send(.data(1, piece, endStream: false))
        }
    }

    // MARK: what it gets

    /// Messages out of an answer's body.
    private static func messages(_ body: [UInt8]) -> [[UInt8]] {
        var rest = body[...]
        var messages: [[UInt8]] = []
        while rest.count >= 5 {
            let count = rest.dropFirst().prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 5 + count else { break }
            messages.append(Array(rest.dropFirst(5).prefix(count)))
            rest = rest.dropFirst(5 + count)
        }
        return messages
    }

    /// The bytes at a path of field numbers; nil if a field is not there.
    private static func at(_ path: [Int], in bytes: [UInt8]) throws -> [UInt8]? {
        var range = 0..<bytes.count
        for number in path {
            guard let found = try ProtobufReader.only(number, in: bytes.span, range) else {
                return nil
            }
            range = found
        }
        return Array(bytes[range])
    }

    /// The headers of `HeaderValueOption`s at `number` in the message.
    private static func headers(_ number: Int, in message: [UInt8]?) throws -> [String: String] {
        guard let message else { return [:] }
        var headers: [String: String] = [:]
        var reader = ProtobufReader(byteCount: message.count)
        while let field = try reader.next(in: message.span) {
            guard field.number == number else { continue }
            let option = Array(message[try field.bytes()])
            let name = try at([1, 1], in: option) ?? []
            let value = try at([1, 2], in: option) ?? at([1, 3], in: option) ?? []
            headers[String(decoding: name, as: UTF8.self).lowercased()] = String(
                decoding: value, as: UTF8.self)
        }
        return headers
    }

    /// The strings at `number` in the message.
    private static func names(_ number: Int, in message: [UInt8]?) throws -> Set<String> {
        guard let message else { return [] }
        var names: Set<String> = []
        var reader = ProtobufReader(byteCount: message.count)
        while let field = try reader.next(in: message.span) {
            guard field.number == number else { continue }
            names.insert(String(decoding: message[try field.bytes()], as: UTF8.self))
        }
        return names
    }

    private func call(
        _ path: String, _ body: [UInt8], type: String = "application/grpc", method: String = "POST"
    ) throws -> HTTP2Client.Answer {
        let client = try HTTP2Client(port: port)
        let head = HTTP2Client.head(method, path, [("content-type", type), ("te", "trailers")])
        try client.send(.headers(1, head, endStream: false))
        try Self.send(body, on: client)
        try client.send(.data(1, [], endStream: true))
        try client.receive { $0.answers[1]?.isOver == true }
        return try #require(client.answers[1])
    }

    private func status(_ answer: HTTP2Client.Answer) -> String? {
        answer.trailers.first { $0.name == "grpc-status" }?.value ?? answer["grpc-status"]
    }

    private func check(
        _ method: String, _ target: String, _ fields: Fields = [], body: [UInt8]? = nil,
        ofRoute word: String? = nil
    ) throws -> [UInt8] {
        let request = Self.framed(
            Self.checkRequest(method, target, fields, body: body, ofRoute: word))
        let answer = try call(Self.checkPath, request)
        #expect(answer.status == 200 && answer["content-type"] == "application/grpc")
        #expect(status(answer) == "0")
        return try #require(Self.messages(answer.body).first)
    }

    private func code(_ denied: [UInt8]) throws -> String? {
        try Self.at([2, 3], in: denied).map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Check

    @Test("allows what is proved, once, with headers to set, to remove and to tell")
    func allowed() throws {
        let app = try SimulatedClient.enrolled(gateway)
        let fields = try app.signature("GET", "/api/x")
        let spoofed = [("x_attest_risk", "0"), ("x-attest-result", "forged"), ("accept", "a")]
        let ok = try #require(
            try Self.at([3], in: try check("GET", "/api/x", fields + spoofed)))
        let set = try Self.headers(2, in: ok)
        #expect(set["x-attest-result"] == "verified" && set["x-attest-body"] == "verified")
        #expect(set["x-attest-key"] == app.device.keyID.base64)
        #expect(try Self.headers(6, in: ok)["x-app-attest-challenge"]?.isEmpty == false)
        let removed = try Self.names(5, in: ok)
        // Envoy removes after it has set.
        #expect(removed.contains("x_attest_risk") && !removed.contains("x-attest-result"))
        #expect(removed.contains("x-app-attest-assertion") && !removed.contains("accept"))
        let again = try check("GET", "/api/x", fields)
        #expect(try code(again)?.contains("assertion_replayed") == true)
        #expect(try Self.headers(2, in: Self.at([2], in: again))["www-authenticate"] != nil)
        #expect(try Self.at([3], in: try check("GET", "/open")) != nil)
        #expect(upstream.requests.isEmpty)
    }

    @Test("compares a body that is shown, and takes none for an empty one")
    func bodies() throws {
        let app = try SimulatedClient.enrolled(gateway)
        let body = Array("{\"amount\":1}".utf8)
        let fields = try app.signature("POST", "/api/x", body: body)
        #expect(try code(try check("POST", "/api/x", fields))?.contains("body_unavailable") == true)
        let other = try check("POST", "/api/x", fields, body: Array("{}".utf8))
        #expect(try code(other)?.contains("body_mismatch") == true)
        #expect(try Self.at([3], in: try check("POST", "/api/x", fields, body: body)) != nil)
        // A route that says that bodies are shown makes none of one that is not.
        let empty = try app.signature("POST", "/api/x")
        let unseen = try check(
            "POST", "/api/x", empty + [("content-length", "12")], ofRoute: "false")
        #expect(try code(unseen)?.contains("body_unavailable") == true)
        #expect(
            try Self.at([3], in: try check("POST", "/api/x", empty, ofRoute: "false")) != nil)
        // Longer than is held in memory.
        let large = [UInt8](repeating: 0x61, count: 200_000)
        let signed = try app.signature("POST", "/api/x", body: large)
        #expect(try Self.at([3], in: try check("POST", "/api/x", signed, body: large)) != nil)
    }

    @Test("ends no call that has come whole by the time for what is to come")
    func wholeCall() throws {
        let redis = try RedisServer()
        let site = try EnvoyCallTests(
            counters: "{ redis: \"\(redis.url)\", command_timeout: 2s }",
            more: ["timeouts: { request_body: 200ms }"])
        let app = try SimulatedClient.enrolled(site.gateway)
        let body = Array("{}".utf8)
        let fields = try app.signature("POST", "/api/x", body: body)
        redis.stop()
        defer { redis.resume() }
        // The wait for Redis ends it, which is longer.
        let denied = try site.code(try site.check("POST", "/api/x", fields, body: body))
        #expect(denied?.contains("store_unavailable") == true)
    }

    @Test("answers a call at fault with the status of gRPC, and never with OK")
    func faults() throws {
        let good = Self.framed(Self.checkRequest("GET", "/open"))
        var compressed = good
        compressed[0] = 1
        var long = good
        long[4] += 1
        let cases: [(String, [UInt8], String)] = [
            (Self.checkPath, compressed, "12"), (Self.checkPath, long, "3"),
            (Self.checkPath, good + good, "3"), (Self.checkPath, good + [0], "3"),
            (Self.checkPath, [], "3"), (Self.checkPath, Self.framed([0x0B]), "3"),
            (Self.checkPath, Self.framed([]), "3"), (Self.checkPath, [0, 255, 0, 0, 0], "8"),
            ("/envoy.service.auth.v3.Authorization/Chek", good, "12"),
            ("/envoy.service.auth.v2.Authorization/Check", good, "12"),
            (Self.processPath, Self.framed(Self.body([], isEnd: true)), "3"),
            (Self.processPath, Self.framed([]), "3"), (Self.processPath, [], "3"),
            (
                Self.processPath, Self.framed(Self.head("GET", "/open", isEnd: false, mode: 1)),
                "9"
            ),
            (
                Self.processPath, Self.framed(Self.head("GET", "/open", isEnd: false, mode: 2)),
                "9"
            ),
        ]
        for (path, body, expected) in cases {
            let answer = try call(path, body)
            #expect(status(answer) == expected, "\(path) \(body.prefix(8))")
        }
        for type in ["application/json", "application/grpc-web", "application/grpc+json", ""] {
            #expect(try call(Self.checkPath, good, type: type).status == 415, "\(type)")
        }
        #expect(status(try call(Self.checkPath, good, method: "GET")) == "12")
        let closed = try EnvoyCallTests(from: "10.0.0.0/8")
        #expect(closed.status(try closed.call(Self.checkPath, good)) == "7")
        let line = try gateway.accessLine { $0["detail"]?.stringValue == "check_call" }
        #expect(line["decision"]?.stringValue == "refused")
        #expect(gateway.isUnharmed)
    }

    @Test("answers the gateway's endpoints, and no request of another kind")
    func endpoints() throws {
        let client = try RawClient(port: port)
        #expect(try client.exchange("GET", "/assert/challenge").status == 200)
        #expect(try client.exchange("GET", "/open").outcome == "404 not_found")
        let http2 = try HTTP2Client(port: port)
        try http2.request(1, "GET", "/assert/challenge")
        try http2.receive { $0.answers[1]?.isOver == true }
        #expect(http2.answers[1]?.status == 200)
    }

    // MARK: Process

    /// A call that stays open.
    private final class Call {
        let client: HTTP2Client

        init(_ port: UInt16) throws {
            // As Envoy, which has large windows and says nothing while they last.
            client = try HTTP2Client(port: port, settings: [(4, 1 << 24)])
            client.opensWindows = false
            try client.send(.windowUpdate(0, 1 << 24))
            let head = HTTP2Client.head(
                "POST", EnvoyCallTests.processPath,
                [("content-type", "application/grpc"), ("te", "trailers")])
            try client.send(.headers(1, head, endStream: false))
        }

        func send(_ message: [UInt8]) throws {
            try EnvoyCallTests.send(EnvoyCallTests.framed(message), on: client)
        }

        var messages: [[UInt8]] { EnvoyCallTests.messages(client.answers[1]?.body ?? []) }

        func receive(_ count: Int) throws -> [UInt8] {
            try client.receive { _ in messages.count >= count || client.answers[1]?.isOver == true }
            return try #require(messages.count >= count ? messages[count - 1] : nil)
        }
    }

    @Test("holds all of a request back until it is verified, and gives it back as it came")
    func process() throws {
        let app = try SimulatedClient.enrolled(gateway)
        let body = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let fields = try app.signature("POST", "/api/x", body: body)
        let call = try Call(port)
        try call.send(Self.head("POST", "/api/x", fields, isEnd: false))
        for start in stride(from: 0, to: body.count, by: 40_000) {
            let end = min(start + 40_000, body.count)
            try call.send(Self.body(Array(body[start..<end]), isEnd: false))
        }
        // The gateway has read all of that, and says nothing.
        try call.client.send(HTTP2Frame(.ping, payload: [UInt8](repeating: 0, count: 8)))
        try call.client.receive { $0.pingAnswerCount == 1 }
        #expect(call.client.answers[1] == nil)
        try call.send(Self.body([], isEnd: true))
        let head = try call.receive(1)
        let set = try Self.headers(1, in: Self.at([1, 1, 2], in: head))
        #expect(set["x-attest-result"] == "verified" && set["x-attest-body"] == "verified")
        try call.client.receive { _ in
            try Self.isEnd(call.messages.last) || call.client.answers[1]?.isOver == true
        }
        let back = try call.messages.dropFirst().flatMap {
            try Self.at([3, 1, 3, 3, 1], in: $0) ?? []
        }
        let isSame = back == body
        #expect(isSame)
        // The next challenge goes with the upstream's answer.
        var answer = ProtobufWriter()
        answer.message(3) { Self.map(1, [(":status", "200")], &$0) }
        let count = call.messages.count
        try call.send(answer.bytes)
        let told = try call.receive(count + 1)
        let headers = try Self.headers(1, in: Self.at([2, 1, 2], in: told))
        #expect(headers["x-app-attest-challenge"]?.isEmpty == false)
        try call.client.send(.data(1, [], endStream: true))
        try call.client.receive { $0.answers[1]?.isOver == true }
        #expect(status(try #require(call.client.answers[1])) == "0")
    }

    private static func isEnd(_ message: [UInt8]?) throws -> Bool {
        guard let message, let streamed = try at([3, 1, 3, 3], in: message) else { return false }
        var reader = ProtobufReader(byteCount: streamed.count)
        while let field = try reader.next(in: streamed.span) {
            if field.number == 2 { return try field.flag() }
        }
        return false
    }

    @Test("lets an API say nothing to the client that only the gateway may say")
    func reserved() throws {
        let app = try SimulatedClient.enrolled(gateway)
        let spoofed = [
            (":status", "200"), ("x-app-attest-challenge", "forged"),
            ("x-app-attest-action", "enroll"), ("x-own", "1"),
        ]
        var answer = ProtobufWriter()
        answer.message(3) { Self.map(1, spoofed, &$0) }
        for (path, fields) in [
            ("/open", []), ("/api/x", try app.signature("POST", "/api/x")),
        ] as [(String, Fields)] {
            let call = try Call(port)
            try call.send(Self.head("POST", path, fields, isEnd: true))
            #expect(try Self.at([1], in: try call.receive(1)) != nil)
            try call.send(answer.bytes)
            let edits = try Self.at([2, 1, 2], in: try call.receive(2))
            let set = try Self.headers(1, in: edits)
            let removed = try Self.names(2, in: edits)
            #expect(set["x-app-attest-challenge"] != "forged")
            #expect((set["x-app-attest-challenge"] == nil) == (path == "/open"))
            #expect(
                removed.union(set.keys).isSuperset(of: [
                    "x-app-attest-challenge", "x-app-attest-action",
                ]))
            #expect(removed.isDisjoint(with: set.keys) && !removed.contains("x-own"))
        }
    }

    /// An `HttpStatus`.
    private static func status(_ number: UInt64) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.number(1, number)
        return writer.bytes
    }

    private static func responseHead(_ fields: Fields) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.message(3) { map(1, fields, &$0) }
        return writer.bytes
    }

    @Test("lets pass what Envoy answers itself, and no answer to a request that it did not show")
    func localAnswers() throws {
        let local = [(":status", "404"), ("x-app-attest-action", "enroll")]
        let app = try SimulatedClient.enrolled(gateway)
        let signed = try app.signature("POST", "/api/x", body: [1])
        for messages in [
            [], [Self.head("POST", "/api/x", signed, isEnd: false)],
            [Self.head("POST", "/open", isEnd: false), Self.body([1], isEnd: false)],
        ] {
            let call = try Call(port)
            for message in messages { try call.send(message) }
            try call.send(Self.responseHead(local))
            let edits = try Self.at([2, 1, 2], in: try call.receive(1))
            #expect(try Self.names(2, in: edits).contains("x-app-attest-action"))
            try call.client.receive { $0.answers[1]?.isOver == true }
            #expect(status(try #require(call.client.answers[1])) == "0")
        }
        // Those that were shown are recorded, as ones whose client has left.
        let lines = try gateway.accessLines(2).filter { $0["check"] != nil }
        #expect(lines.allSatisfy { $0["status"]?.integerValue == 499 })
        #expect(!gateway.current.text(on: .standardError).contains("check_call_failed"))
        let upstreams = local + [("x-envoy-upstream-service-time", "3")]
        for messages in [[], [Self.head("POST", "/api/x", signed, isEnd: false)]] {
            let call = try Call(port)
            for message in messages { try call.send(message) }
            try call.send(Self.responseHead(upstreams))
            try call.client.receive { $0.answers[1]?.isOver == true }
            #expect(status(try #require(call.client.answers[1])) == "9")
        }
        try gateway.current.waitForLine(on: .standardError, containing: "request_header_mode")
        // Nothing was spent.
        #expect(
            try app.raw.exchange("POST", "/api/x", fields: signed, body: [1]).status == 200)
    }

    @Test("refuses a CONNECT, which has no path, as it does a client's own")
    func tunnel() throws {
        let denied = try check("CONNECT", "", ofRoute: "false")
        #expect(try Self.at([2, 1], in: denied) == Self.status(501))
        let call = try Call(port)
        var writer = ProtobufWriter()
        writer.message(2) { head in
            Self.map(1, [(":method", "CONNECT"), (":authority", "api.example:443")], &head)
        }
        writer.message(11) { $0.number(1, 4) }
        try call.send(writer.bytes)
        let message = try call.receive(1)
        #expect(try Self.at([7, 1], in: message) == Self.status(501))
        try call.client.receive { $0.answers[1]?.isOver == true }
        #expect(!gateway.current.text(on: .standardError).contains("check_call_failed"))
    }

    @Test("ends no connection for the calls on it that were given up or refused")
    func abandoned() throws {
        let call = try Call(port)
        let client = call.client
        try call.send(Self.head("POST", "/open", isEnd: false))
        let head = HTTP2Client.head(
            "POST", Self.processPath, [("content-type", "application/grpc"), ("te", "trailers")])
        for index in 1...300 {
            let id = UInt32(index * 2 + 1)
            // Each second upload is refused, and Envoy does not half-close.
            let isRefused = index % 2 == 0
            let message = Self.head(
                "POST", isRefused ? "/api/x" : "/open", isEnd: isRefused)
            try client.send(
                .headers(id, head, endStream: false),
                .data(id, Self.framed(message), endStream: false))
            if isRefused { try client.receive { $0.answers[id]?.isComplete == true } }
            try client.send(.reset(id, code: isRefused ? 0 : 8))
        }
        try client.settle()
        #expect(client.goAways.isEmpty)
        try call.send(Self.body([1], isEnd: true))
        #expect(try Self.at([1], in: try call.receive(1)) != nil)
    }

    @Test("answers the client itself where a request must not pass, and sends nothing of it on")
    func immediate() throws {
        let app = try SimulatedClient.enrolled(gateway)
        let fields = try app.signature("POST", "/api/x", body: Array("{}".utf8))
        for (sent, isEnd, code) in [
            ([], true, "assertion_required"), ([], false, "assertion_required"),
            (fields, false, "body_mismatch"), (fields, true, "body_mismatch"),
        ] as [(Fields, Bool, String)] {
            let call = try Call(port)
            try call.send(Self.head("POST", "/api/x", sent, isEnd: isEnd))
            if !isEnd { try call.send(Self.body(Array("{ }".utf8), isEnd: true)) }
            let message = try call.receive(1)
            let text = try Self.at([7, 3], in: message).map { String(decoding: $0, as: UTF8.self) }
            #expect(text?.contains(code) == true)
            let headers = try Self.headers(1, in: Self.at([7, 2], in: message))
            #expect(headers["x-app-attest-challenge"]?.isEmpty == false)
            try call.client.receive { $0.answers[1]?.isOver == true }
            #expect(call.messages.count == 1)
        }
        // Nothing was spent.
        #expect(
            try app.raw.exchange("POST", "/api/x", fields: fields, body: Array("{}".utf8)).status
                == 200)
    }

    @Test("treats a body that is not shown as one that is not seen")
    func hidden() throws {
        let app = try SimulatedClient.enrolled(gateway)
        let call = try Call(port)
        let fields = try app.signature("POST", "/api/x", body: Array("{}".utf8))
        try call.send(Self.head("POST", "/api/x", fields, isEnd: false, mode: 0))
        let text = try Self.at([7, 3], in: try call.receive(1))
        #expect(String(decoding: text ?? [], as: UTF8.self).contains("body_unavailable"))
    }

    @Test("lets trailers go on that the gateway would forward; a call has none of its own")
    func trailers() throws {
        let call = try Call(port)
        try call.send(Self.head("POST", "/open", isEnd: false))
        try call.send(Self.body([1], isEnd: false))
        var trailers = ProtobufWriter()
        let unwanted = ["x-attest-result", "x_forwarded_for", "x-original-url", "authorization"]
        trailers.message(6) { Self.map(1, (["x-sum"] + unwanted).map { ($0, "1") }, &$0) }
        try call.send(trailers.bytes)
        let told = try Self.at([5, 1], in: call.receive(3))
        #expect(try Self.names(2, in: told) == Set(unwanted))
        let bare = try Call(port)
        try bare.client.send(.headers(1, [("x-sum", "1")]))
        try bare.client.receive { $0.answers[1]?.isOver == true }
        #expect(status(try #require(bare.client.answers[1])) == "3")
    }

    @Test("ends a call whose messages come out of their order, and bounds a body")
    func order() throws {
        let head = Self.head("POST", "/open", isEnd: false)
        let ended = Self.body([1], isEnd: true)
        for messages in [
            [head, head], [head, ended, ended], [ended],
            [Self.head("GET", "/open", isEnd: true), ended],
        ] {
            let call = try Call(port)
            for message in messages { try call.send(message) }
            try call.client.receive { $0.answers[1]?.isOver == true }
            #expect(status(try #require(call.client.answers[1])) == "3")
        }
        // Left in the middle of a body.
        let call = try Call(port)
        try call.send(head)
        try call.client.send(.data(1, [], endStream: true))
        try call.client.receive { $0.answers[1]?.isOver == true }
        #expect(status(try #require(call.client.answers[1])) == "3")
        let site = try EnvoyCallTests(
            more: ["limits: { body: 1KiB }", "timeouts: { request_body: 200ms }"])
        let large = try Call(site.port)
        try large.send(Self.head("POST", "/open", isEnd: false))
        try large.send(Self.body([UInt8](repeating: 0, count: 2048), isEnd: false))
        let text = try Self.at([7, 3], in: try large.receive(1))
        #expect(String(decoding: text ?? [], as: UTF8.self).contains("body_too_large"))
        // Neither the rest of its body nor what it asks about ever comes.
        let late = try Call(site.port)
        try late.send(head)
        let word = try Self.at([7, 3], in: try late.receive(1))
        #expect(String(decoding: word ?? [], as: UTF8.self).contains("request_timeout"))
        let mute = try Call(site.port)
        try mute.client.receive { $0.answers[1]?.isOver == true }
        #expect(status(try #require(mute.client.answers[1])) == "14")
    }
}
