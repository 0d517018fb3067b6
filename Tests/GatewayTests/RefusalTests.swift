import EventLoop
import Foundation
import GatewayTesting
import Judgement
import Testing

@testable import Gateway

@Suite("The last refusals")
struct RefusalTests {}

extension RefusalTests {
    @Test("no flood pushes out other kinds, nor other clients of its kind")
    func flood() throws {
        let gateway = try GatewayUnderTest()
        let client = try RawClient(port: gateway.trustedPort)
        func send(_ path: String, from address: String) throws {
            #expect(
                try client.exchange("GET", path, fields: [("X-Forwarded-For", address)]).status
                    == 401)
        }
        try send("/durable/first", from: "192.0.2.1")
        for number in 0..<3 { try send("/attested/\(number)", from: "192.0.2.2") }
        for number in 0..<(3 * RecentRefusals.countMax) {
            // Many addresses of one person.
            try send("/attested/flood", from: "2001:db8::\(String(number, radix: 16))")
        }
        gateway.stop()
        let records = gateway.hub.refusals[0].records
        #expect(records.count == RecentRefusals.countMax)
        let paths = records.map { String(decoding: $0.path, as: UTF8.self) }
        #expect(paths.first == "/durable/first")
        for number in 0..<3 { #expect(paths.contains("/attested/\(number)")) }
        #expect(records.last?.client?.ipText == "2001:db8::257")
        // Several workers' lists become one by the same rule.
        let merged = RecentRefusals.merged([records, records, records])
        #expect(merged.count == RecentRefusals.countMax)
        #expect(merged.filter { $0.route == "durable" }.count == 3)
    }

    @Test("kinds share the room evenly when all of them are many")
    func kinds() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        for route in ["attested", "durable", "window", "unchallenged"] {
            for _ in 0..<RecentRefusals.countMax {
                #expect(try client.exchange("GET", "/\(route)/x").status == 401)
            }
        }
        gateway.stop()
        let routes = Dictionary(grouping: gateway.hub.refusals[0].records) { $0.route ?? "" }
        #expect(routes.count == 4)
        for records in routes.values { #expect(records.count == RecentRefusals.countMax / 4) }
    }

    @Test("what the client was told to do is kept, and nothing where it was told nothing")
    func action() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/attested/x").status == 401)
        #expect(try client.exchange("GET", "/observed/x").status == 200)
        gateway.stop()
        let records = gateway.hub.refusals[0].records
        #expect(records.map(\.action) == [.signAgain, nil])
    }

    @Test("what a stranger sends is cut, and a head that cannot be read has no parts")
    func bounds() throws {
        let gateway = try GatewayUnderTest()
        let path = "/attested/" + String(repeating: "a", count: 4000)
        let client = try gateway.client()
        #expect(
            try client.exchange(
                "GET", path + "?secret=1",
                fields: [("User-Agent", String(repeating: "b", count: 4000))]
            ).status == 401)
        try client.send(Array("GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n".utf8))
        #expect(try client.receive().status == 400)
        gateway.stop()
        let records = gateway.hub.refusals[0].records
        let limits = RefusalRecord.byteCountsMax
        #expect(records.first?.path.count == limits[2])
        #expect(records.first?.userAgent.count == limits[3])
        #expect(records.first?.requestID.count == 32)
        #expect(records.last?.reason == .badRequest)
        #expect(records.last?.path.isEmpty == true && records.last?.requestID.count == 32)
    }
}
