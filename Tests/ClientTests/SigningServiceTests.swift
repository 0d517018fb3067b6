import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "The signing service of sallyport-lab", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct SigningServiceTests {}

extension SigningServiceTests {
    @Test(
        "signs what a tool is going to send, each request with a new counter and challenge",
        arguments: LabDesk.Platform.allCases)
    func signs(platform: LabDesk.Platform) throws {
        let desk = try LabDesk(platform)
        try desk.enrol()
        let service = try SigningService(desk)
        for (json, body) in [
            (#""url":"https://api.example.com/api/x?a=1","body":"é\n""#, "é\n"),
            (#""url":"/api/x?a=1","body_base64":"w6kK""#, "é\n"),
            (#""url":"http://127.0.0.1/api/x?a=1#top""#, ""),
        ] {
            let signed = try service.ask(#"{"method":"POST",\#(json)}"#)
            #expect(signed.status == 200, "\(signed.bodyText)")
            #expect(signed["Content-Type"] == "application/json")
            let answer = try desk.gateway.exchange(
                "POST", "/api/x?a=1", fields: try SigningService.headers(signed),
                body: Array(body.utf8))
            #expect(answer.status == 200, "\(answer.bodyText)")
        }
        #expect(desk.upstream.requests.count == 3)
        if platform == .apple { #expect(try desk.counter() == 3) }
        // A command may use the file meanwhile.
        #expect(try desk.isServed())
    }

    @Test("signs for no web page, and nothing that it cannot read")
    func refusals() throws {
        let desk = try LabDesk()
        try desk.enrol()
        let service = try SigningService(desk)
        let json = #"{"method":"GET","url":"/api/x"}"#
        func expect(_ status: Int, _ answer: HTTPMessage) throws {
            #expect(answer.status == status, "\(answer.bodyText)")
            let error = try JSONValue.parse(answer.bodyText)["error"]?.stringValue
            #expect(error?.isEmpty == false)
        }
        for origin in ["https://evil.example", "null", "http://127.0.0.1:\(service.port)"] {
            try expect(403, service.ask(json, fields: [("Origin", origin)]))
        }
        try expect(415, service.ask(json, type: "text/plain"))
        try expect(404, service.ask(json, target: "/"))
        try expect(405, service.ask("", "GET"))
        try expect(413, service.ask(String(repeating: " ", count: 192 * 1024 + 1)))
        for json in [
            "", "[]", #"{"method":"GET"}"#, #"{"method":"","url":"/"}"#,
            #"{"method":"GET","url":"/a b"}"#, #"{"method":"GET","url":"http://"}"#,
            #"{"method":"GET","url":"/","body":{}}"#,
            #"{"method":"GET","url":"/","body_base64":"*"}"#,
            #"{"method":"GET","url":"/","body":"","body_base64":""}"#,
        ] {
            try expect(400, service.ask(json))
        }
        #expect(try desk.counter() == 0)
    }

    @Test(
        "answers to names of this machine alone",
        arguments: [
            ("evil.example", 403), ("evil.example:80", 403), ("127.0.0.1.evil.example", 403),
            ("localhost", 200), ("LOCALHOST:7357", 200), ("[::1]:7357", 200), ("127.0.0.1", 200),
        ])
    func hosts(host: String, status: Int) throws {
        let desk = try LabDesk()
        try desk.enrol()
        let service = try SigningService(desk)
        let answer = try service.ask(#"{"method":"GET","url":"/api/x"}"#, host: host)
        #expect(answer.status == status, "\(answer.bodyText)")
    }

    @Test("tells that the file is in use or the gateway away, and then goes on")
    func unavailable() throws {
        let desk = try LabDesk()
        try desk.enrol()
        let service = try SigningService(desk)
        let json = #"{"method":"GET","url":"/api/x"}"#
        let lock = open(desk.state + ".lock", O_RDWR | O_CLOEXEC)
        try #require(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        let busy = try service.ask(json)
        #expect(busy.status == 503 && busy.bodyText.contains("in use by another command"))
        flock(lock, LOCK_UN)
        close(lock)
        _ = try desk.gateway.terminate()
        #expect(try service.ask(json).status == 503)
        try desk.gateway.start()
        #expect(try service.ask(json).status == 200)
        #expect(try desk.counter() == 1)
    }

    @Test("does not start on another address or without a device")
    func starts() throws {
        let desk = try LabDesk()
        let missing = try desk.lab(["sign"])
        #expect(missing.status == .exited(1))
        #expect(missing.standardError.contains("`sallyport-lab device enrol` makes it"))
        try desk.enrol()
        for address in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0", "127.0.0.1", "127.0.0.1:x"] {
            let refused = try desk.lab(["sign", "--listen", address])
            #expect(refused.status == .exited(2))
            #expect(refused.standardError.contains("is not 127.0.0.1:PORT"))
        }
        #expect(try desk.lab(["sign", "--fault", "none"]).status == .exited(2))
    }
}
