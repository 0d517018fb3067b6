import Redis
import Testing

@Suite("Slots of a cluster")
struct RedisSlotTests {}

extension RedisSlotTests {
    @Test(
        "are those that Redis computes",
        arguments: [
            ("123456789", 0x31C3), ("", 0), ("foo", 12182), ("{user1000}.following", 3443),
            ("{user1000}.followers", 3443), ("foo{}{bar}", 8363), ("foo{{bar}}zap", 4015),
            ("foo{bar}{zap}", 5061), ("bar", 5061), ("{bar", 4015),
        ])
    func slots(key: String, number: Int) {
        // `{{bar}}` counts `{bar`.
        #expect(RedisSlot(ofKey: Array(key.utf8)).number == number)
    }

    @Test("have a text each that hashes to them", arguments: [0, 1, 8191, 16_383])
    func tags(number: Int) throws {
        let slot = try #require(RedisSlot(number))
        #expect(RedisSlot(ofTag: slot.tag) == slot)
        #expect(slot.tag.count <= 4)
    }

    @Test("have ranks of their own")
    func ranks() {
        let ranks = Set((0..<RedisSlot.count).compactMap { RedisSlot($0)?.rank })
        #expect(ranks.count == RedisSlot.count)
        #expect(RedisSlot(-1) == nil && RedisSlot(RedisSlot.count) == nil)
    }

    @Test(
        "redirections are read as they are written",
        arguments: [
            ("MOVED 3999 127.0.0.1:6381", "moved", "127.0.0.1", 6381),
            ("ASK 0 h.example:1", "ask", "h.example", 1),
            ("MOVED 16383 ::1:7000", "moved", "::1", 7000),
            ("MOVED 5 :7000", "moved", "asked", 7000),
        ])
    func redirections(line: String, kind: String, host: String, port: UInt16) {
        let asked = RedisEndpoint.tcp(host: "asked", port: 1)
        let endpoint = RedisEndpoint.tcp(host: host, port: port)
        switch RedisRedirection(line, askedAt: asked) {
        case .moved(_, let found): #expect(kind == "moved" && found == endpoint)
        case .ask(_, let found): #expect(kind == "ask" && found == endpoint)
        case nil: Issue.record("not read: \(line)")
        }
    }

    @Test(
        "what is no redirection is none",
        arguments: [
            "MOVED 16384 h:1", "MOVED -1 h:1", "MOVED 1 h:0", "MOVED 1 h:65536", "MOVED 1 h",
            "MOVED 1", "MOVED", "", "TRYAGAIN 1 h:1", "MOVED x h:1", "ASK 1 h:1 more",
        ])
    func noRedirections(line: String) {
        #expect(RedisRedirection(line, askedAt: nil) == nil)
    }

    private func range(_ first: Int64, _ last: Int64, _ host: String?, _ port: Int64) -> RedisReply
    {
        .array([
            .integer(first), .integer(last),
            .array([host.map { .bulk(Array($0.utf8)) } ?? .null, .integer(port), .bulk([])]),
            .array([.bulk(Array("replica".utf8)), .integer(9), .bulk([])]),
        ])
    }

    @Test("a map knows the master of each slot")
    func map() throws {
        let asked = RedisEndpoint.tcp(host: "asked", port: 1)
        let reply = RedisReply.array([
            range(0, 99, "a", 1), range(100, 100, "b", 2), range(200, 16_383, nil, 3),
        ])
        var map = try #require(RedisSlotMap(reply, askedAt: asked))
        let (a, b) = (RedisEndpoint.tcp(host: "a", port: 1), RedisEndpoint.tcp(host: "b", port: 2))
        let own = RedisEndpoint.tcp(host: "asked", port: 3)
        func master(_ number: Int) -> RedisEndpoint? { RedisSlot(number).flatMap { map[$0] } }
        #expect(map.masters == [a, b, own])
        #expect(
            [master(0), master(99), master(100), master(200), master(16_383)] == [
                a, a, b, own, own,
            ])
        #expect(master(101) == nil && !map.isComplete)
        #expect(map.slots(of: b).map(\.number) == [100])
        let slot = try #require(RedisSlot(150))
        map.move(slot, to: .tcp(host: "c", port: 4))
        #expect(master(150) == .tcp(host: "c", port: 4))
        for other in [
            RedisReply.null, .array([.null]), .array([range(5, 4, "a", 1)]),
            .array([range(0, 16_384, "a", 1)]), .array([range(0, 1, "a", 0)]),
            .array([range(0, 1, nil, 70_000)]),
        ] {
            #expect(RedisSlotMap(other, askedAt: asked) == nil)
        }
    }
}
