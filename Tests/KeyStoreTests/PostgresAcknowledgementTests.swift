import Attestation
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Postgres
import PostgresKeyStore
import Testing

import class EventLoop.Thread

/// What is answered is on the standby too.
@Suite(
    "Acknowledged writes of a PostgreSQL registry", .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(30)))
final class PostgresAcknowledgementTests {
    private let fixture: PostgresFixture
    private var generator = SeededGenerator(seed: 82)

    init() throws { fixture = try PostgresFixture(try PostgresServer()) }
}

extension PostgresAcknowledgementTests {
    private func standby(_ isMissing: Bool) throws {
        let name = isMissing ? "'nobody'" : "''"
        try fixture.query("ALTER SYSTEM SET synchronous_standby_names = \(name)")
        try fixture.query("SELECT pg_reload_conf()")
        let expected = isMissing ? "nobody" : ""
        let limit = ChildProcess.deadline
        while try fixture.query("SHOW synchronous_standby_names") != expected, Date() < limit {
            _ = poll(nil, 0, 10)
        }
    }

    /// Ends the wait of a commit for its standby, as an operator would.
    private func cancelWait() throws {
        try fixture.waitForSessions(1, "wait_event = 'SyncRep'")
        try fixture.query(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    }

    private func registry() throws -> PostgresRegistry {
        try fixture.registry { $0.connection.commandTimeout = .seconds(60) }
    }

    @Test("an enrolment whose wait for the standby was cancelled is not acknowledged, nor again")
    func cancelledEnrolment() throws {
        let registry = try registry()
        try registry.probe()
        try standby(true)
        let record = generator.record()
        let challenge = generator.bytes16()
        for _ in 0..<2 {
            let reply = Reply<Result<EnrolmentOutcome, StoreError>>()
            registry.enrol(record, challenge: challenge) { reply.give($0) }
            try cancelWait()
            let error = #expect(throws: StoreError.self) { try reply.wait()?.get() }
            #expect(error?.description.contains("standby") == true, "\(error?.description ?? "")")
        }
        let last = Reply<Result<EnrolmentOutcome, StoreError>>()
        registry.enrol(record, challenge: challenge) { last.give($0) }
        try fixture.waitForSessions(1, "wait_event = 'SyncRep'")
        try standby(false)
        #expect(try last.wait()?.get() == .alreadyEnrolled)
        registry.close()
    }

    @Test("a revocation whose wait for the standby was cancelled is not acknowledged, nor again")
    func cancelledRevocation() throws {
        let registry = try registry()
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        try standby(true)
        for _ in 0..<2 {
            let reply = try fixture.revoking([record.keyID])
            try cancelWait()
            #expect(throws: StoreError.self) { try reply.wait()?.get() }
        }
        try standby(false)
        #expect(try fixture.administration().revoke([record.keyID]) == [.unchanged])
        registry.close()
    }

    @Test("nor is one of a role that hides the server's warnings")
    func hiddenWarnings() throws {
        try fixture.query("ALTER ROLE postgres SET client_min_messages = 'error'")
        let registry = try registry()
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        try standby(true)
        let enrolment = Reply<Result<EnrolmentOutcome, StoreError>>()
        registry.enrol(generator.record(), challenge: generator.bytes16()) { enrolment.give($0) }
        try cancelWait()
        #expect(throws: StoreError.self) { try enrolment.wait()?.get() }
        let revocation = try fixture.revoking([record.keyID])
        try cancelWait()
        #expect(throws: StoreError.self) { try revocation.wait()?.get() }
        try standby(false)
        registry.close()
    }

    @Test("users whose removal may not be on the standby are not said to be forgotten, nor again")
    func cancelledForgetting() throws {
        let registry = try registry()
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        let user = UserPseudonym(value: generator.bytes16())
        let noted = Reply<Result<UserKeys?, StoreError>>()
        registry.note(
            KeySighting(keyID: record.keyID, user: user, milliseconds: 1000, countedSince: 0)
        ) { noted.give($0) }
        #expect(try noted.wait()?.get()?.keyCount == 1)
        try standby(true)
        let configuration = fixture.configuration()
        for _ in 0..<2 {
            let reply = Reply<Result<Void, StoreError>>()
            _ = try Thread.spawn(name: "forget") {
                reply.give(
                    Result { () throws(StoreError) in
                        try PostgresAdministration(configuration).forget(user)
                    })
            }
            try cancelWait()
            #expect(throws: StoreError.self) { try reply.wait()?.get() }
        }
        try standby(false)
        #expect(try fixture.administration().keys(of: user).isEmpty)
        registry.close()
    }
}
