import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

/// Gateways that reach a real PostgreSQL through a real PgBouncer.
@Suite(
    "Gateways behind PgBouncer",
    .enabled(if: BuiltProgram.isBuilt && PostgresServer.isInstalled && PgBouncer.isInstalled),
    .timeLimit(.minutes(30)))
struct PgBouncerTests {}

extension PgBouncerTests {
    private static func site(_ pooler: PgBouncer) throws -> FaultSite {
        let site = try FaultSite()
        let keys = try site.directory.write(
            Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString() + "\n",
            to: "challenge-keys")
        site.configuration.registry = "postgres: \"\(pooler.url)\", pool: 2"
        site.configuration.more.append("secrets: { challenge_key_file: \(keys) }")
        return site
    }

    @Test("of one session for each client enrol, verify, hear of revocations, and outlive it")
    func session() throws {
        let server = try PostgresServer.shared.get()
        let pooler = try PgBouncer(server, mode: "session")
        let site = try Self.site(pooler)
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        #expect(try device.call("durable").exchange(with: gateway).status == 200)

        let doctor = try BuiltProgram.run(["doctor", "-c", gateway.configurationPath])
        #expect(doctor.standardOutput.contains("notifications: arrive"))
        try pooler.restart()
        // The sessions are made anew by themselves.
        try gateway.waitForReadiness(200)
        let other = try gateway.poll { _ in try? site.enrolledDevice(at: gateway) }
        #expect(try other.call("durable").exchange(with: gateway).status == 200)
        let revoked = try BuiltProgram.run(
            ["keys", "revoke", "-c", gateway.configurationPath, other.keyID.base64])
        #expect(revoked.status == .exited(0), "\(revoked.standardError)")
        let verdict = try gateway.poll { client in
            let answer = try other.call("durable").exchange(on: client)
            return answer.status == 200 ? nil : answer.verdict
        }
        #expect(verdict == "403 key_revoked")
    }

    @Test("of one session for each transaction are told by doctor which mode they need")
    func transaction() throws {
        let pooler = try PgBouncer(try PostgresServer.shared.get(), mode: "transaction")
        let site = try Self.site(pooler)
        // Another client has made the statements of the session that the doctor gets.
        let gateway = try site.start()
        let outcome = try BuiltProgram.run(["doctor", "-c", gateway.configurationPath])
        #expect(outcome.status == .exited(1))
        #expect(
            outcome.standardOutput.contains("PgBouncer needs pool_mode=session"),
            "\(outcome.standardOutput)")
    }
}
