import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import PostgresKeyStore
import SQLite
import SQLiteKeyStore
import Testing

extension SharedState {
    func read(_ name: String) throws -> SharedReading {
        let reply = Reply<Result<SharedReading, StoreError>>()
        readShared(name) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }

    func write(_ write: SharedWrite) throws -> SharedOutcome {
        let reply = Reply<Result<SharedOutcome, StoreError>>()
        writeShared(write) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }

    func write(
        _ name: String, _ text: String, over expected: SharedEntry?, life: Duration? = nil,
        takesExpired: Bool = false
    ) throws -> SharedOutcome {
        var write = SharedWrite(
            name: name, value: Array(text.utf8), expected: expected, lifetime: life)
        write.takesExpired = takesExpired
        return try self.write(write)
    }
}

@Suite("Values that gateways share", .timeLimit(.minutes(30)))
struct SharedStateTests {}

extension SharedStateTests {
    @Test(
        "a value is written once, replaced by who read it, and survives",
        arguments: RegistryKind.installed)
    func compareAndSet(_ store: RegistryKind) throws {
        let fixture = try RegistryFixture(store)
        let first = try fixture.registry()
        let second = try fixture.registry()
        #expect(try first.read("a").entry == nil)
        let written = try first.write("a", "one", over: nil)
        #expect(written.isWritten)
        let one = try #require(written.reading.entry)
        #expect(
            one
                == SharedEntry(
                    name: "a", value: Array("one".utf8), version: 1, term: 1, expiresAt: nil))
        // The second finds what the first wrote, whether it asks or writes.
        let refused = try second.write("a", "two", over: nil)
        #expect(!refused.isWritten)
        #expect(refused.reading.entry == one)
        #expect(try second.read("a").entry == one)
        let two = try #require(try second.write("a", "two", over: one).reading.entry)
        #expect(two.version == 2 && two.term == 1 && two.value == Array("two".utf8))
        #expect(try !first.write("a", "three", over: one).isWritten)
        // Names are apart, also where one begins with the other.
        #expect(try first.read("ab").entry == nil)
        #expect(try first.write("ab", "", over: nil).reading.entry?.value == [])
        first.close()
        second.close()
        let again = try fixture.registry()
        #expect(try again.read("a").entry == two)
        again.close()
        // A command sees and writes the same.
        let command = try fixture.administration()
        #expect(try command.readShared("a").entry == two)
        let three = SharedWrite(name: "a", value: [3], expected: two)
        #expect(try command.writeShared(three).reading.entry?.version == 3)
        #expect(try !command.writeShared(three).isWritten)
    }

    @Test(
        "a version that another value has is not the one that was read",
        arguments: RegistryKind.installed)
    func sameVersionOtherValue(_ store: RegistryKind) throws {
        let fixture = try RegistryFixture(store)
        defer { withExtendedLifetime(fixture) {} }
        let registry = try fixture.registry()
        let one = try #require(try registry.write("a", "one", over: nil).reading.entry)
        let lost = SharedEntry(
            name: "a", value: Array("lost".utf8), version: 1, term: 1, expiresAt: nil)
        #expect(try !registry.write("a", "two", over: lost).isWritten)
        let never = SharedEntry(name: "b", value: [], version: 1, term: 1, expiresAt: nil)
        let outcome = try registry.write("b", "two", over: never)
        #expect(!outcome.isWritten && outcome.reading.entry == nil)
        #expect(try registry.read("a").entry == one)
        registry.close()
    }

    @Test("an ended life lets another in, in a term of its own", arguments: RegistryKind.installed)
    func expiry(_ store: RegistryKind) throws {
        let fixture = try RegistryFixture(store)
        defer { withExtendedLifetime(fixture) {} }
        let registry = try fixture.registry()
        let held = try registry.write("a", "one", over: nil, life: .seconds(600))
        let one = try #require(held.reading.entry)
        #expect(!one.isExpired(at: held.reading.now))
        let expiresAt = try #require(one.expiresAt)
        // Read after it was written, on the clock that it was written by.
        let left = expiresAt - held.reading.now
        #expect(left <= 600_000 && left > 0)
        #expect(
            try !registry.write("a", "two", over: nil, life: .seconds(600), takesExpired: true)
                .isWritten)
        // Its holder writes on in its term, and lets go.
        let free = try #require(
            try registry.write("a", "one", over: one, life: .zero).reading.entry)
        #expect(free.term == 1 && free.version == 2)
        // What has ended stays until somebody asks for the place.
        #expect(try !registry.write("a", "two", over: nil, life: .seconds(600)).isWritten)
        let taken = try registry.write(
            "a", "two", over: nil, life: .seconds(600), takesExpired: true)
        let two = try #require(taken.reading.entry)
        #expect(taken.isWritten && two.term == 2 && two.version == 3)
        #expect(try !registry.write("a", "one", over: free, takesExpired: true).isWritten)
        // Nobody's lease is that long: it was written while the store's clock was ahead.
        let ahead = try registry.write("a", "two", over: two, life: .seconds(7200))
        #expect(ahead.isWritten)
        #expect(try !registry.write("a", "one", over: free, life: .seconds(600)).isWritten)
        let back = try registry.write(
            "a", "one", over: free, life: .seconds(600), takesExpired: true)
        #expect(back.isWritten && back.reading.entry?.term == 3)
        #expect(throws: StoreError.self) {
            try registry.write(
                "a", "two", over: nil, life: .seconds(3601), takesExpired: true)
        }
        registry.close()
    }

    @Test("of many who write on one reading one succeeds", arguments: RegistryKind.installed)
    func races(_ store: RegistryKind) throws {
        let fixture = try RegistryFixture(store)
        let registries = try (0..<3).map { _ in try fixture.registry() }
        var expected: SharedEntry?
        for round in 0..<5 {
            let replies = (0..<12).map { _ in Reply<Result<SharedOutcome, StoreError>>() }
            for (index, reply) in replies.enumerated() {
                let write = SharedWrite(
                    name: "a", value: [UInt8(round), UInt8(index)], expected: expected)
                registries[index % 3].writeShared(write) { reply.give($0) }
            }
            var winners: [SharedEntry] = []
            for reply in replies {
                guard let outcome = try reply.wait()?.get() else { throw NoReply() }
                if outcome.isWritten, let entry = outcome.reading.entry { winners.append(entry) }
            }
            #expect(winners.count == 1)
            expected = try registries[0].read("a").entry
            #expect(expected == winners.first)
            #expect(expected?.version == Int64(round) + 1)
        }
        for registry in registries { registry.close() }
    }

    @Test("names and values are bounded", arguments: RegistryKind.installed)
    func bounds(_ store: RegistryKind) throws {
        let fixture = try RegistryFixture(store)
        let registry = try fixture.registry()
        let longest = String(repeating: "n", count: SharedWrite.nameByteCountMax)
        let value = [UInt8](repeating: 7, count: SharedWrite.valueByteCountMax)
        #expect(
            try registry.write(SharedWrite(name: longest, value: value, expected: nil)).isWritten)
        #expect(try registry.read(longest).entry?.value == value)
        let command = try fixture.administration()
        for (name, value) in [("", []), (longest + "n", []), ("a", value + [7])] {
            let write = SharedWrite(name: name, value: value, expected: nil)
            #expect(throws: StoreError.self) { try registry.write(write) }
            #expect(throws: StoreError.self) { try command.writeShared(write) }
        }
        registry.close()
    }

    @Test("a value whose numbers have run out, in a damaged store, is left as it is")
    func noNext() {
        for (version, term) in [(Int64.max, Int64(1)), (1, .max)] {
            let entry = SharedEntry(
                name: "a", value: [1], version: version, term: term, expiresAt: 5)
            var write = SharedWrite(name: "a", value: [2], expected: entry)
            #expect((write.entry(over: entry, at: 0) == nil) == (version == .max))
            write = SharedWrite(name: "a", value: [2], expected: nil, lifetime: .seconds(1))
            #expect(write.entry(over: entry, at: 9) == nil)
        }
    }
}
