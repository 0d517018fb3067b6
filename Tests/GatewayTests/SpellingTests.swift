import GatewayTesting
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Paths that upstreams read in their own way")
struct SpellingTests {}

extension SpellingTests {
    private static let spellings = [
        "/API/transfer", "/api/transfer.json", "/api/transfer.", "/api/transfer%20",
        "/api/%2574ransfer", "/api/TRANSFER?x=1",
    ]

    private static func gateway(_ equivalence: PathEquivalence) throws -> GatewayUnderTest {
        try GatewayUnderTest { settings in
            settings.routes = [
                GatewayUnderTest.route("transfer", "/") { $0.mode = .enforce },
                GatewayUnderTest.route("open", "/") { _ in },
            ]
            settings.routes[0].path = .exact("/api/transfer")
            for index in settings.routes.indices {
                settings.routes[index].pathEquivalence = equivalence
            }
        }
    }

    @Test("no spelling that the upstream reads alike passes unproved, and each goes on as it came")
    func spelled() throws {
        var equivalence = PathEquivalence()
        equivalence.ignoresCase = true
        equivalence.ignoresSuffixes = true
        equivalence.decodesTwice = true
        let gateway = try Self.gateway(equivalence)
        let device = try EnrolledDevice(gateway)
        for target in Self.spellings {
            #expect(try device.send("GET", target).code == "assertion_required", "\(target)")
        }
        #expect(gateway.upstream.requests.isEmpty)
        for target in Self.spellings {
            let path = String(target.prefix { $0 != "?" })
            let fields = try device.signedFields("GET", path)
            #expect(try device.send("GET", target, fields: fields).status == 200, "\(target)")
            #expect(gateway.upstream.requests.last?.target == target)
        }
        // What was signed is compared with what came, not with what the upstream makes of it.
        let other = try device.signedFields("GET", "/api/transfer")
        let answer = try device.send("GET", "/API/transfer", fields: other)
        #expect(answer.code == "request_mismatch")
        #expect(try device.send("GET", "/a/%252e%252e/api/transfer").status == 400)
        #expect(try device.send("GET", "/other").status == 200)
    }

    @Test("nothing is read so where nobody says it")
    func literal() throws {
        let gateway = try Self.gateway(.exact)
        let device = try EnrolledDevice(gateway)
        for target in Self.spellings {
            #expect(try device.send("GET", target).status == 200, "\(target)")
        }
        #expect(try device.send("GET", "/api/transfer").code == "assertion_required")
    }
}
