import GatewayTesting
import Policy
import Settings
import Testing

@testable import Gateway

/// A challenge is for one client; a shared cache would hand it to all.
@Suite("Challenges and caches")
struct PersonalFieldsTests {}

extension PersonalFieldsTests {
    private static let personalWords: [[String]] = [
        ["private"], ["Private, max-age=5"], ["no-store"], ["max-age=5, no-cache"],
        ["public", "NO-STORE"], ["x=\"a, b\", private"],
    ]
    private static let sharedWords: [[String]] = [
        ["public"], ["public, max-age=60"], ["s-maxage=5"], ["max-age=5"], ["must-revalidate"],
        ["private=\"x-other\", max-age=5"], ["no-cache=\"x-other\""],
        ["max-age=5, x=\"a, private\""], ["max-age=5, x=\"\\\", private"], [""],
    ]

    private func answer(
        _ gateway: GatewayUnderTest, _ method: String = "GET", status: Int = 200,
        fields: [(String, String)] = []
    ) throws -> HTTPMessage {
        gateway.upstream.answer { _ in
            .response(status, fields: fields, body: status == 304 ? "" : "hello")
        }
        return try gateway.client().exchange(method, "/observed/x")
    }

    private func words(_ message: HTTPMessage) -> [String] {
        message.fields.filter { $0.name.lowercased() == "cache-control" }.map(\.value)
    }

    @Test("an answer for one client carries a challenge")
    func personal() throws {
        let gateway = try GatewayUnderTest()
        for values in Self.personalWords {
            let answer = try answer(gateway, fields: values.map { ("Cache-Control", $0) })
            #expect(answer[challengeField] != nil, "\(values)")
            #expect(words(answer) == values)
        }
    }

    @Test("an answer that shared caches may keep carries no challenge")
    func shared() throws {
        let gateway = try GatewayUnderTest()
        for values in Self.sharedWords {
            let answer = try answer(gateway, fields: values.map { ("Cache-Control", $0) })
            #expect(answer[challengeField] == nil, "\(values)")
            #expect(words(answer) == values)
        }
    }

    @Test("nor one whose word for shared caches stands elsewhere")
    func elsewhere() throws {
        let gateway = try GatewayUnderTest()
        for (name, value) in [
            ("Expires", "Thu, 01 Jan 2099 00:00:00 GMT"), ("CDN-Cache-Control", "max-age=60"),
            ("Surrogate-Control", "max-age=60"), ("Edge-Control", "cache-maxage=60s"),
            ("X-Accel-Expires", "60"),
        ] {
            let privately = name == "Expires" ? [] : [("Cache-Control", "private")]
            let answer = try answer(gateway, fields: privately + [(name, value)])
            #expect(answer[challengeField] == nil, "\(name)")
            #expect(answer[name] == value)
        }
    }

    @Test("an answer that says nothing becomes private, where caches might keep it unasked")
    func unspoken() throws {
        let gateway = try GatewayUnderTest()
        let get = try answer(gateway)
        #expect(get[challengeField] != nil)
        #expect(words(get) == ["private"])
        let post = try answer(gateway, "POST")
        #expect(post[challengeField] != nil)
        #expect(words(post).isEmpty)
        let notModified = try answer(gateway, status: 304)
        #expect(notModified[challengeField] == nil)
        #expect(words(notModified).isEmpty)
    }

    @Test("what the route sets counts, and what it removes does not")
    func edited() throws {
        let gateway = try GatewayUnderTest(upstream: { _ in
            .response(fields: [("Cache-Control", "private")])
        }) { settings in
            for index in settings.routes.indices where settings.routes[index].name == "observed" {
                settings.routes[index].responseHeaders.set = [
                    HeaderLine(name: "Cache-Control", value: TextTemplate(literal: "max-age=60"))
                ]
            }
        }
        let answer = try gateway.client().exchange("GET", "/observed/x")
        #expect(answer[challengeField] == nil)
        #expect(words(answer) == ["max-age=60"])
    }
}
