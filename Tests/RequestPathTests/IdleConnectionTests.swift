import GatewayTesting
import Testing

/// What a connection costs that waits for its next request: most connections do, most of the time.
@Suite("Idle connections", .enabled(if: BuiltProgram.isBuilt))
struct IdleConnectionTests {}

extension IdleConnectionTests {
    @Test("2,000 connections after an answer hold less than 0.75 KiB of memory each")
    func memory() throws {
        let upstream = try RecordingUpstream()
        let gateway = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
        func connectionsAfterAnAnswer(_ count: Int) throws -> [RawClient] {
            try (0..<count).map { _ in
                let client = try gateway.connect()
                // A chunked body needs a decoder, which must not stay either.
                try client.send(
                    "POST / HTTP/1.1\r\nHost: api\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
                #expect(try client.receive().status == 200)
                return client
            }
        }
        // What the gateway keeps of its last requests is full by then.
        let first = try connectionsAfterAnAnswer(40)
        for client in first {
            for _ in 0..<100 {
                try client.send("GET / HTTP/1.1\r\nHost: api\r\n\r\n")
                #expect(try client.receive().status == 200)
            }
        }
        let count = 2000
        var rest: [RawClient] = []
        var least = Int.max
        // What a busy machine makes the gateway hold meanwhile counts once.
        for _ in 0..<3 where least >= 768 {
            let before = try gateway.residentByteCount()
            rest += try connectionsAfterAnAnswer(count)
            least = min(least, (try gateway.residentByteCount() - before) / count)
        }
        #expect(least < 768, "\(least) bytes a connection")
        withExtendedLifetime((first, rest)) {}
    }
}
