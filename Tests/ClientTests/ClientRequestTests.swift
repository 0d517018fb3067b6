import Bytes
import Crypto
import CryptoKit
import Foundation
import FoundationNetworking
import GatewayTesting
import SallyportClient
import Testing

@Suite(
    "A client's requests", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)), .fewAtOnce)
struct ClientRequestTests {}

extension ClientRequestTests {
    @Test("share one enrolment and go one after the other where counters only rise")
    func inOrder() async throws {
        let site = try ClientSite()
        let client = site.client()
        let request = try site.request()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 {
                group.addTask { try await client.send(request).1.statusCode }
            }
            for try await status in group { #expect(status == 200) }
        }
        #expect(site.service.keyCount == 1)
        #expect(site.upstream.requests.count == 20)
        #expect(site.network.count("/api/x") == 20)
        // Each answer brings the next challenge.
        #expect(site.network.count("/assert/challenge") <= 1)
    }

    @Test("go at once within a window")
    func window() async throws {
        let site = try ClientSite(attest: "mode: enforce, replay: { window: 64 }")
        site.configuration.signing = .window(8)
        let client = site.client()
        let request = try site.request()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<40 {
                group.addTask { try await client.send(request).1.statusCode }
            }
            for try await status in group { #expect(status == 200) }
        }
        #expect(site.upstream.requests.count == 40)
    }

    @Test(
        "are signed with the target as it goes over the wire",
        arguments: ["/api/x", "/api/%41b%20c?to=7&x=%2F", "/api/?", "/api/a+b?q=a+b"])
    func targets(target: String) async throws {
        let site = try ClientSite()
        let answer = try await site.client().send(
            try site.request(target, method: "POST", body: "hello"))
        #expect(answer.1.statusCode == 200)
        #expect(site.upstream.requests.map(\.body) == [Array("hello".utf8)])
    }

    @Test("may have their body in a file")
    func file() async throws {
        let site = try ClientSite()
        let directory = try ScratchDirectory()
        let bytes = [UInt8](repeating: 7, count: 200_001)
        let path = try directory.write(bytes, to: "body")
        let answer = try await site.client().send(
            try site.request(method: "POST"), body: .file(URL(fileURLWithPath: path)))
        #expect(answer.1.statusCode == 200)
        #expect(site.upstream.requests.map(\.body) == [bytes])
    }

    @Test("may be signed in their body, whose other bytes stay as they are")
    func bodyShape() async throws {
        let site = try ClientSite(attest: "mode: enforce, client_data: body")
        site.configuration.shape = .body(challengeMember: "challenge")
        let client = site.client()
        for text in ["{}", " {\"amount\": 0.10, \"note\":\"{\"}"] {
            let answer = try await client.send(
                try site.request(method: "POST", body: text))
            #expect(answer.1.statusCode == 200)
            let body = String(decoding: site.upstream.requests.last?.body ?? [], as: UTF8.self)
            #expect(body.hasSuffix(String(text.drop { $0 != "{" }.dropFirst())))
        }
        for text in ["[]", "hello", "{\"challenge\":1}"] {
            await #expect(throws: ClientError.self) {
                try await client.send(try site.request(method: "POST", body: text))
            }
        }
        #expect(site.upstream.requests.count == 2)
    }

    @Test("are sent by somebody else, who brings the answer back")
    func signed() async throws {
        let site = try ClientSite()
        let client = site.client()
        let (request, body) = try await client.sign(try site.request())
        let answer = try await SessionTransport().send(request, body)
        #expect(answer.1.statusCode == 200)
        #expect(await client.receive(answer.0, answer.1) == nil)
        let again = try await SessionTransport().send(request, body)
        #expect(await client.receive(again.0, again.1)?.code == "assertion_replayed")
    }

    @Test(
        "go to no other server, neither with a proof nor without one",
        arguments: ["https://127.0.0.1", "http://localhost", "http://127.0.0.1:1"])
    func otherServer(origin: String) async throws {
        let site = try ClientSite()
        let client = site.client()
        let other = URLRequest(url: try #require(URL(string: origin + "/api/x")))
        await #expect(throws: ClientError.self) { try await client.send(other) }
        await #expect(throws: ClientError.self) {
            try await client.send(other, proof: .sessionToken)
        }
        await #expect(throws: ClientError.self) { try await client.sign(other) }
        await #expect(throws: ClientError.self) { try await client.prove(other) }
        #expect(site.network.paths.isEmpty)
        #expect(site.service.keyCount == 0)
    }

    @Test("keep no cookies and no caches, in the session that the client makes")
    func session() async throws {
        let site = try ClientSite()
        site.upstream.answer { _ in .response(fields: [("Set-Cookie", "a=b")]) }
        let client = site.client(transport: SessionTransport())
        for _ in 0..<2 { _ = try await client.send(try site.request()) }
        #expect(site.upstream.requests.map { $0["Cookie"] } == [nil, nil])
        let settings = SessionTransport().session.configuration
        #expect(settings.urlCache == nil && settings.httpCookieStorage == nil)
    }

    @Test("are signed and sent with their method in upper case", arguments: ["patch", "Delete"])
    func lowerCase(method: String) async throws {
        let site = try ClientSite()
        let answer = try await site.client().send(try site.request(method: method))
        #expect(answer.1.statusCode == 200)
        let (signed, _) = try await site.client().sign(try site.request(method: method))
        #expect(signed.httpMethod == method.uppercased())
    }

    @Test("have their answers read piece by piece in the transport's own session")
    func streaming() {
        let session = URLSession(configuration: .ephemeral)
        let transport: any Transport = SessionTransport(session: session)
        #expect((transport as? any StreamingTransport)?.session === session)
    }

    @Test("follow no redirection, because an assertion is for one target")
    func redirection() async throws {
        let site = try ClientSite()
        site.upstream.answer { _ in
            .response(302, fields: [("Location", "/api/elsewhere")])
        }
        let answer = try await site.client().send(try site.request())
        #expect(answer.1.statusCode == 302)
        #expect(site.upstream.requests.count == 1)
    }

    @Test("use a session token that one assertion has paid for, and sign where it is not enough")
    func sessionTokens() async throws {
        let site = try ClientSite(attest: "mode: enforce, accept: [assertion, token]")
        let client = site.client()
        for _ in 0..<5 {
            let answer = try await client.send(try site.request(), proof: .sessionToken)
            #expect(answer.1.statusCode == 200)
        }
        #expect(site.network.count("/assert/token") == 1)
        let verified = site.upstream.requests.map { $0["X-Attest-Tier"] }
        #expect(verified == Array(repeating: "token", count: 5))

        site.network.trouble("/api/x", [.refusal(401, "assertion_required", "sign_again")])
        let answer = try await client.send(try site.request(), proof: .sessionToken)
        #expect(answer.1.statusCode == 200)
        #expect(site.upstream.requests.last?["X-Attest-Tier"] == "attested")
    }

    @Test("bring what stands in for an assertion on a device without App Attest")
    func unsupported() async throws {
        let site = try ClientSite(isSupported: false)
        site.configuration.whenUnproved = .fail
        await #expect(throws: ClientError.self) {
            try await site.client().send(try site.request())
        }
        site.deviceTokens.isSupported = true
        site.network.trouble("/api/x", [.answer(200, [:], "")])
        _ = try await site.client().send(try site.request())
        #expect(site.network.count("/api/x") == 1)
        await #expect(throws: ClientError.self) { try await site.client().enrol() }
    }

    @Test("give up their place in line when they are cancelled")
    func cancellation() async throws {
        let site = try ClientSite()
        let client = site.client()
        try await client.enrol()
        let gate = Gate()
        site.upstream.answer { _ in
            gate.wait()
            return .response()
        }
        let request = try site.request()
        let first = Task { try await client.send(request).1.statusCode }
        try site.upstream.waitForRequests(1)
        let second = Task { try await client.send(request).1.statusCode }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.open()
        #expect(try await first.value == 200)
        #expect(try await client.send(request).1.statusCode == 200)
        #expect(site.upstream.requests.count == 2)
    }

    @Test("do not wait for an enrolment any more when they are cancelled")
    func cancelledEnrolment() async throws {
        let site = try ClientSite()
        let meeting = Meeting(of: 2)
        let client = site.client(
            transport: MeetingNetwork(
                network: site.network, path: "/attest/challenge", meeting: meeting))
        let request = try site.request()
        let first = Task { try await client.send(request).1.statusCode }
        while site.service.keyCount == 0 { await Task.yield() }
        let second = Task { try await client.sessionToken() }
        first.cancel()
        second.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        await #expect(throws: CancellationError.self) { try await second.value }
        // The enrolment went on.
        await meeting.join()
        #expect(try await client.send(request).1.statusCode == 200)
        #expect(site.service.keyCount == 1)
    }

    @Test(
        "are hashed by a stand-in that computes SHA-256", arguments: [0, 1, 55, 56, 63, 64, 1000])
    func digest(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(CryptoKit.SHA256.hash(data: Data(bytes)) == Crypto.SHA256.hash(bytes).array)
    }
}
