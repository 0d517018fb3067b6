import AndroidAttestation
import Attestation
import Background
import Bytes
import Crypto
import EventLoop
import GatewayTesting
import Glibc
import KeyStore
import SQLiteKeyStore
import Testing

/// The keys that a list names, on a real loop and a real registry.
@Suite("Revoking the keys of withdrawn certificates", .timeLimit(.minutes(30)))
final class ListedKeyRevocationTests {
    private struct Events: EventLog {
        let names = Locked<[String]>([])

        func event(level: StaticString, _ name: StaticString, _ message: String) {
            names.withLock { $0.append("\(name)") }
        }

        func leftOut(_ name: StaticString, isOwed: Bool) {}
    }

    private struct Down: Error {}

    private let directory: ScratchDirectory
    private let path: String
    private let administration: SQLiteAdministration
    private let events = Events()
    private let state = RevocationState()
    /// The keys that were marked, page by page.
    private let marked = Locked<[[KeyID]]>([])
    private let isDown = Locked(false)

    init() throws {
        directory = try ScratchDirectory()
        path = directory.path(of: "registry.db")
        administration = try SQLiteAdministration(path: path, createsIfMissing: true)
    }
}

extension ListedKeyRevocationTests {
    /// Puts keys under these certificates into the registry.
    private func enrol(_ certificates: [[String]]) throws -> [KeyID] {
        let load = administration.beginImport()
        var ids: [KeyID] = []
        for serials in certificates {
            let publicKey = try P256PrivateKey.generate().publicKey
            var record = KeyRecord(
                keyID: KeyID(of: publicKey), publicKey: publicKey, appID: "com.example.app",
                environment: .production, enrolledAt: 1_790_000_000)
            record.certificates = serials
            ids.append(record.keyID)
            try load.add(record)
        }
        _ = try load.finish()
        return ids
    }

    private func list(_ serials: String...) throws -> RevocationList {
        let entries = serials.map { #""\#($0)":{"status":"REVOKED"}"# }.joined(separator: ",")
        return try RevocationList(parsing: Array(#"{"entries":{\#(entries)}}"#.utf8))
    }

    private func revocation(_ loop: EventLoop) -> ListedKeyRevocation {
        ListedKeyRevocation(
            loop: loop, state: state, log: events, holder: [UInt8](repeating: 1, count: 16)
        ) { [path, marked, isDown] in
            RevocationStores(
                open: { try SQLiteAdministration(path: path) },
                mark: { keyIDs in
                    if isDown.withLock(\.self) { throw Down() }
                    marked.withLock { $0.append(keyIDs) }
                })
        }
    }

    /// Runs the loop until `isDone`.
    private func run(_ loop: EventLoop, until isDone: @escaping () -> Bool) {
        let deadline = loop.now + ChildProcess.patience
        let timer = Timer(loop: loop) {
            if isDone() || loop.now > deadline { loop.stop() }
        }
        timer.scheduleRepeating(every: .milliseconds(5))
        loop.run()
        #expect(isDone())
        withExtendedLifetime(timer) {}
    }

    /// A revocation whose clock a test moves.
    private func clocked() throws -> (ManualClock, EventLoop, ListedKeyRevocation) {
        let clock = ManualClock(
            now: MonotonicInstant(nanoseconds: 1_000_000_000_000), wallMilliseconds: 0)
        let loop = try EventLoop(clock: clock)
        return (clock, loop, revocation(loop))
    }

    /// Runs a loop whose clock a test moves, until `isDone`.
    private func step(_ loop: EventLoop, until isDone: () -> Bool) throws {
        try repeatWhile(!isDone()) {
            loop.runUntilIdle()
            _ = poll(nil, 0, 1)
        }
    }

    private func statuses(_ ids: [KeyID]) throws -> [KeyStatus?] {
        try ids.map { try administration.find($0)?.status }
    }

    @Test("keys under a listed certificate are revoked, marked and noted, and no others")
    func revoked() throws {
        // In hexadecimal, in decimal (0x1f is 31), and by another certificate of the chain.
        let ids = try enrol([["aa", "bb"], ["1f"], ["cc", "dd"], ["ee"], []])
        let loop = try EventLoop()
        let revocation = revocation(loop)
        revocation.take(try list("AA", "31", "0dd"), from: "https://list.example/")
        run(loop) { self.state.figures?.revokedKeyCount == 3 }
        #expect(try statuses(ids) == [.revoked, .revoked, .revoked, .active, .active])
        #expect(Set(marked.withLock(\.self).joined()) == Set(ids[0..<3]))
        #expect(events.names.withLock(\.self) == ["android_keys_revoked"])
        #expect(state.figures?.revokedAt != nil)
        let entries = try administration.audit(AuditFilter())
        #expect(entries.count == 3)
        for entry in entries {
            #expect(entry.author.way == .gateway && entry.author.name == "revocation list")
            #expect(entry.author.origin == "https://list.example/")
            #expect(entry.note.action == "keys.revoke" && entry.note.outcome == "done")
        }
        #expect(Set(entries.map(\.note.subject)) == Set(ids[0..<3].map(\.base64)))
        revocation.close()
    }

    @Test("a list is gone through once, and again when it changes")
    func once() throws {
        let first = try enrol([["aa"]])
        let loop = try EventLoop()
        let revocation = revocation(loop)
        revocation.take(try list("aa"), from: "x")
        run(loop) { self.state.figures?.revokedKeyCount == 1 }
        // Imported, with a certificate that is listed already.
        let second = try enrol([["aa"]])
        revocation.take(try list("aa"), from: "x")
        var timer: Timer? = Timer(loop: loop) { loop.stop() }
        timer?.schedule(after: .milliseconds(300))
        loop.run()
        timer = nil
        #expect(try statuses(first + second) == [.revoked, .active])
        revocation.take(try list("aa", "bb"), from: "x")
        run(loop) { self.state.figures?.revokedKeyCount == 2 }
        #expect(try statuses(first + second) == [.revoked, .revoked])
        revocation.close()
    }

    @Test("many keys and long lists are gone through in parts")
    func many() throws {
        let ids = try enrol((0..<450).map { ["abc", String($0 + 0x1000, radix: 16)] })
        let entries = (0..<1200).map {
            #""\#(String($0 + 0x1100, radix: 16))":{"status":"REVOKED"}"#
        }
        let listed = try RevocationList(
            parsing: Array(#"{"entries":{\#(entries.joined(separator: ","))}}"#.utf8))
        let loop = try EventLoop()
        let revocation = revocation(loop)
        revocation.take(listed, from: "x")
        run(loop) { self.state.figures?.revokedKeyCount ?? 0 > 0 }
        let revoked = try statuses(ids).count { $0 == .revoked }
        #expect(revoked == 450 - 0x100 && marked.withLock(\.self).allSatisfy { $0.count <= 200 })
        revocation.take(try list("abc"), from: "x")
        run(loop) { self.state.figures?.revokedKeyCount == 450 }
        #expect(try statuses(ids).allSatisfy { $0 == .revoked })
        revocation.close()
    }

    @Test("what cannot be marked is not revoked yet, told of, and found again")
    func down() throws {
        let ids = try enrol([["aa"]])
        let (clock, loop, revocation) = try clocked()
        isDown.withLock { $0 = true }
        revocation.take(try list("aa"), from: "x")
        try step(loop) { state.figures?.revokingFailure != nil }
        #expect(try statuses(ids) == [.active])
        #expect(events.names.withLock(\.self) == ["android_revocation_failed"])
        isDown.withLock { $0 = false }
        clock.now = clock.now + .seconds(61)
        try step(loop) { state.figures?.revokedKeyCount == 1 }
        #expect(try statuses(ids) == [.revoked] && state.figures?.revokingFailure == nil)
        revocation.close()
    }

    @Test("while another gateway has the lease, this one waits")
    func leased() throws {
        let ids = try enrol([["aa"]])
        let other = SharedWrite(
            name: "android-revocation", value: [9], expected: nil, lifetime: .seconds(300))
        #expect(try administration.writeShared(other).isWritten)
        let loop = try EventLoop()
        let revocation = revocation(loop)
        revocation.take(try list("aa"), from: "x")
        var timer: Timer? = Timer(loop: loop) { loop.stop() }
        timer?.schedule(after: .milliseconds(300))
        loop.run()
        timer = nil
        #expect(try statuses(ids) == [.active] && marked.withLock(\.self).isEmpty)
        #expect(state.figures?.revokingFailure == nil)
        revocation.close()
    }

    @Test("a key that was verified by the list before, and enrolled behind the new one, is found")
    func lateEnrolment() throws {
        let first = try enrol([["aa"]])
        let (clock, loop, revocation) = try clocked()
        revocation.take(try list("aa"), from: "x")
        try step(loop) { state.figures?.revokedKeyCount == 1 }
        let late = try enrol([["aa"]])
        clock.now = clock.now + .seconds(61)
        try step(loop) { state.figures?.revokedKeyCount == 2 }
        #expect(try statuses(first + late) == [.revoked, .revoked])
        revocation.close()
    }

    @Test("a list that was taken back revokes nothing, however the one before ended")
    func takenBack() throws {
        let ids = try enrol([["aa"], ["bb"]])
        let (clock, loop, revocation) = try clocked()
        revocation.take(try list("aa"), from: "x")
        try step(loop) { state.figures?.revokedKeyCount == 1 }
        // A faulty list while the store is down, which the server then puts right.
        isDown.withLock { $0 = true }
        revocation.take(try list("bb"), from: "x")
        try step(loop) { state.figures?.revokingFailure != nil }
        let late = try enrol([["aa"]])
        isDown.withLock { $0 = false }
        revocation.take(try list("aa"), from: "x")
        // The list that is back finds the key that enrolled by the other one.
        try step(loop) { state.figures?.revokedKeyCount == 2 }
        // So does its pass a minute later, in place of the other list's.
        let later = try enrol([["aa"]])
        clock.now = clock.now + .seconds(61)
        try step(loop) { state.figures?.revokedKeyCount == 3 }
        #expect(try statuses(ids + late + later) == [.revoked, .active, .revoked, .revoked])
        revocation.close()
    }
}
