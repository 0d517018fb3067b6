import Bytes
import EventLoop
import GatewayTesting
import HTTPSClient
import Testing

@Suite("Requests in flight", .enabled(if: NginxServer.isInstalled), .timeLimit(.minutes(30)))
struct HTTPSFlightTests {
    private let bench: ClientBench

    init() throws { bench = try ClientBench() }
}

extension HTTPSFlightTests {
    @Test("share one connection by HTTP/2, up to their bound and no further")
    func bound() throws {
        let server = try bench.nginx(
            "location / { return 200 $connection; }")
        let client = try bench.client { $0.inFlightCountMax = 20 }
        let requests = Array(repeating: HTTPSRequest.get(server.port), count: 25)
        let outcomes = try bench.outcomes(client, requests)
        #expect(outcomes.count == 25)
        #expect(outcomes.filter { $0 == .failure(.tooManyInFlight) }.count == 5)
        let bodies = outcomes.compactMap { try? $0.get().body }
        #expect(bodies.count == 20)
        #expect(Set(bodies).count == 1)
        #expect(client.inFlightCount == 0)
        // There is room again.
        #expect(try bench.outcome(client, .get(server.port)).get().status == 200)
    }

    @Test("that are cancelled say nothing, and make room")
    func cancellation() throws {
        let silent = try LoopbackListener { socket in
            while (try? socket.receive())?.isEmpty == false {}
        }
        defer { silent.stop() }
        let server = try bench.nginx("location / { return 200 hello; }")
        let client = try bench.client { $0.inFlightCountMax = 1 }
        let call = client.send(.get(silent.port)) { _ in Issue.record("a cancelled call spoke") }
        #expect(client.inFlightCount == 1)
        call.cancel()
        call.cancel()
        #expect(client.inFlightCount == 0)
        #expect(try bench.outcome(client, .get(server.port)).get().status == 200)
    }

    @Test("end when the client is closed, and nothing is sent afterwards")
    func closing() throws {
        let silent = try LoopbackListener { socket in
            while (try? socket.receive())?.isEmpty == false {}
        }
        defer { silent.stop() }
        let client = try bench.client()
        var outcomes: [ClientBench.Outcome] = []
        for _ in 0..<3 { client.send(.get(silent.port)) { outcomes.append($0) } }
        let timer = Timer(loop: bench.loop) { [loop = bench.loop] in
            client.close()
            loop.stop()
        }
        timer.schedule(after: .milliseconds(50))
        bench.loop.run()
        #expect(outcomes == Array(repeating: .failure(.closed), count: 3))
        client.close()
        #expect(try bench.outcome(client, .get(silent.port)) == .failure(.closed))
    }

    @Test("go with the client that is dropped, also from within a handler")
    func dropping() throws {
        let server = try bench.nginx("location / { return 200 hello; }")
        var client: HTTPSClient? = try bench.client()
        var count = 0
        for _ in 0..<5 {
            client?.send(.get(server.port)) { [loop = bench.loop] _ in
                count += 1
                client = nil
                loop.stop()
            }
        }
        bench.loop.run()
        #expect(count >= 1)
        #expect(client == nil)
    }

    @Test("go on one after the other from within handlers")
    func chain() throws {
        let server = try bench.nginx("location / { return 200 hello; }")
        let client = try bench.client()
        var leftCount = 20
        func next() {
            client.send(.get(server.port)) { [loop = bench.loop] outcome in
                #expect((try? outcome.get().status) == 200)
                leftCount -= 1
                if leftCount == 0 { loop.stop() } else { next() }
            }
        }
        next()
        bench.loop.run()
        #expect(leftCount == 0)
    }
}
