import GatewayTesting
import JSON
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("How answers say when to try again")
struct RetryAdviceTests {}

extension RetryAdviceTests {
    private func retry(_ answer: HTTPMessage) throws -> JSONValue? {
        try JSONValue.parse(answer.bodyText)["retry"]
    }

    private static func advice(_ members: [(String, Int64)]) throws -> JSONValue {
        try JSONValue.parse(
            "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}")
    }

    @Test("a request is tried again at once, and twice at most")
    func sign() throws {
        let gateway = try GatewayUnderTest()
        let answer = try gateway.client().exchange("GET", "/attested/x")
        #expect(answer.status == 401)
        #expect(
            try retry(answer) == Self.advice([("after", 0), ("backoff", 2), ("max", 2)]))
    }

    @Test("a wait is that of Retry-After")
    func later() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.rateLimits.append(RateLimitTests.limit("few", by: .address))
            for index in settings.routes.indices where settings.routes[index].name == "open" {
                settings.routes[index].rateLimits = ["few"]
            }
        }
        let client = try gateway.client()
        for _ in 0..<2 { _ = try client.exchange("GET", "/x") }
        let answer = try client.exchange("GET", "/x")
        let after = try #require(answer["Retry-After"].flatMap { Int64($0) })
        #expect(answer.status == 429 && (3000...3600).contains(after))
        #expect(
            try retry(answer)
                == Self.advice([("after", after), ("backoff", 2), ("longest", 10), ("max", 2)]))
    }

    @Test("an enrolment waits for hours, and no second new key comes at once")
    func enrolment() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        let challenge = try client.exchange(
            "GET", "/attest/challenge", fields: [("Accept", "application/json")])
        #expect(
            try retry(challenge)
                == Self.advice([
                    ("after", 1), ("backoff", 2), ("longest", 21_600), ("new_key_after", 3600),
                ]))
        let assertion = try client.exchange(
            "GET", "/assert/challenge", fields: [("Accept", "application/json")])
        #expect(try retry(assertion) == nil)
        let body = Array(#"{"key_id":"x","attestation":"x","challenge":"x"}"#.utf8)
        let refused = try client.exchange("POST", "/attest/verify", body: body)
        #expect(refused.status == 400)
        #expect(try retry(refused) == Self.advice([("after", 21_600), ("backoff", 1)]))
        gateway.registry.fail("down")
        let device = try EnrolledDevice(gateway, isKnown: false)
        let unknown = try device.request("GET", "/attested/x")
        #expect(unknown.code == "store_unavailable")
        #expect(
            try retry(unknown)
                == Self.advice([("after", 1), ("backoff", 2), ("longest", 10), ("max", 2)]))
    }

    @Test("what cannot be mended is not tried again")
    func never() throws {
        let gateway = try GatewayUnderTest()
        let answer = try gateway.client().exchange("GET", "/attest/failure")
        #expect(answer.status == 405)
        #expect(try retry(answer) == nil)
    }
}
