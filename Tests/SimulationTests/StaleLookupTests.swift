import AppAttestTesting
import Attestation
import Bytes
import EventLoop
import GatewayTesting
import KeyStore
import Testing

@Suite("A look-up that a change overtakes", .timeLimit(.minutes(30)))
struct StaleLookupTests {}

extension StaleLookupTests {
    @Test("does not leave a revoked key in the cache")
    func revokedMeanwhile() throws {
        let scratch = try ScratchDirectory()
        let registry = SimulatedRegistry()
        let clock = ManualClock(
            now: MonotonicInstant(nanoseconds: 1_000_000_000), wallMilliseconds: 1_800_000_000_000)
        let counters = EmbeddedCounters(
            clock: EmbeddedClock(base: 0, boot: nil, nowMilliseconds: 1000))
        let gateway = try SimulatedGateway(
            clock: clock, registry: registry, directory: scratch.path, embedded: counters)
        let device = try SimulatedDevice(appID: SimulatedGateway.appID)
        registry.insert(
            KeyRecord(
                keyID: device.keyID, publicKey: device.publicKey, appID: device.appID,
                environment: .production, enrolledAt: 1))
        func step() { gateway.step(store: { nil }, upstream: { _ in true }) }
        func answer(_ descriptor: Int32) throws -> WholeMessage {
            var taken = ByteBuffer()
            while case .bytes = Socket.read(descriptor, into: &taken, atMost: 1 << 16) {}
            Socket.close(descriptor)
            return try #require(WholeMessage(taken.readable.array))
        }

        let fetching = try gateway.connect()
        let fetch = Array("GET /assert/challenge HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        _ = Socket.write(fetching, fetch.span)
        step()
        let challenge = try answer(fetching).body
        let signed = try device.sign(
            method: "POST", path: SimulatedGateway.strictPath, challenge: challenge)
        var text =
            "POST \(SimulatedGateway.strictPath) HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n"
        for header in signed.headers { text += "\(header.name): \(header.value)\r\n" }
        let asking = try gateway.connect()
        let request = Array((text + "\r\n").utf8)
        _ = Socket.write(asking, request.span)
        step()

        // The registry has read the key, another gateway revokes it, and the news comes first.
        #expect(registry.waitingCount == 1)
        registry.revoke(device.keyID)
        step()
        registry.answer(0)
        step()
        #expect(registry.waitingCount == 1)
        registry.answer(0)
        step()
        let refusal = try answer(asking)
        #expect(refusal.status == 403)
        #expect(refusal.body.contains("key_revoked"))
    }
}
