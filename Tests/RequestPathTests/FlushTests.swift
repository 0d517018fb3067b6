import AppAttestTesting
import Foundation
import GatewayTesting
import Testing

/// A Redis that is flushed while its connections stay: no worker is told.
@Suite(
    "A flushed Redis", .enabled(if: BuiltProgram.isBuilt && RedisServer.isInstalled),
    .timeLimit(.minutes(30)))
struct FlushTests {}

extension FlushTests {
    /// Sends on a new connection, which any worker may take.
    private func send(
        _ device: SimulatedDevice, _ challenge: String, _ gateway: GatewayProcess
    ) throws -> HTTPMessage {
        try device.call("strict", challenge: challenge).exchange(with: gateway)
    }

    @Test("each client of several workers is refused once at most, whichever it meets")
    func once() throws {
        let redis = try RedisServer()
        let site = try FaultSite(redis: redis)
        site.configuration.workers = 4
        let gateway = try site.start()
        let devices = try (0..<5).map { _ in try site.enrolledDevice(at: gateway) }
        for _ in 0..<6 {
            let challenges = try gateway.challenges(devices.count)
            try redis.command("FLUSHALL")
            for (device, challenge) in zip(devices, challenges) {
                let refused = try send(device, challenge, gateway)
                #expect(refused.verdict == "401 challenge_expired")
                var next = try #require(refused["X-App-Attest-Challenge"])
                for _ in 0..<4 {
                    let answer = try send(device, next, gateway)
                    #expect(answer.verdict == "200")
                    next = try gateway.challenge()
                }
            }
        }
        #expect(site.seenBodies.values.allSatisfy { $0 == 1 })
        #expect(gateway.isUnharmed)
    }

    @Test("a client that one gateway has refused is accepted by another one")
    func otherGateway() throws {
        let redis = try RedisServer()
        let site = try FaultSite(redis: redis)
        let gateways = [try site.start(), try site.start()]
        let device = try site.enrolledDevice(at: gateways[0])
        for round in 0..<6 {
            let challenge = try gateways[0].challenge()
            try redis.command("FLUSHALL")
            let refused = try send(device, challenge, gateways[round % 2])
            #expect(refused.verdict == "401 challenge_expired")
            let next = try #require(refused["X-App-Attest-Challenge"])
            #expect(try send(device, next, gateways[(round + 1) % 2]).verdict == "200")
        }
        #expect(site.seenBodies.values.allSatisfy { $0 == 1 })
    }
}
