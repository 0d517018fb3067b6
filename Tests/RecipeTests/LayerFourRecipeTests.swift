import Foundation
import GatewayTesting
import JSON
import Testing

/// `docs/recipes/layer-4.md`.
@Suite(
    "The recipe for a layer-4 balancer",
    .enabled(
        if: BuiltProgram.isBuilt && Proxy.hasHAProxy && RedisServer.isInstalled
            && PostgresServer.isInstalled, "HAProxy, Redis or PostgreSQL is not installed"))
struct LayerFourRecipeTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream
    private let certificate: TestCertificate
    private let redis: RedisServer
    private let database: String

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
        certificate = try TestCertificate(in: directory, "api", names: ["localhost"])
        redis = try RedisServer()
        let postgres = try PostgresServer.shared.get()
        database = postgres.url(try postgres.makeDatabase())
        let secret = try ChildProcess.run("openssl", ["rand", "-base64", "32"]).standardOutput
        try directory.write(secret, to: "challenge-keys")
        try directory.write("unused\n", to: "database-password")
    }
}

extension LayerFourRecipeTests {
    private struct Place {
        let port = FreePort.find()
        let probePort = FreePort.find()
    }

    private func gateway(_ name: String, at place: Place) throws -> RecipeGateway {
        try RecipeGateway(
            try Recipe.file("layer-4/sallyport.yaml").moved([
                "0.0.0.0:8443": "127.0.0.1:\(place.port)", "10.0.0.0/24": "127.0.0.1",
                "postgresql://sallyport@10.0.0.5/sallyport?sslmode=verify-full": database,
                "{ redis: \"redis://10.0.0.6:6379/0\" }": redis.counters,
                "10.0.0.9:9001": "127.0.0.1:\(upstream.port)",
                "127.0.0.1:9464": "127.0.0.1:\(FreePort.find())",
                "0.0.0.0:9465": "127.0.0.1:\(place.probePort)", "/etc/sallyport": directory.path,
            ]), in: directory, named: "\(name).yaml")
    }

    @Test("requests keep the client's address, and none is lost when a gateway stops")
    func stop() throws {
        let (one, two) = (Place(), Place())
        let gateways = [try gateway("one", at: one), try gateway("two", at: two)]
        let port = FreePort.find()
        let proxy = try HAProxy(
            try Recipe.file("layer-4/haproxy.cfg").moved([
                "bind :443": "bind 127.0.0.1:\(port)", " port 9465": "", "inter 1s": "inter 100ms",
                "10.0.0.1:8443": "127.0.0.1:\(one.port) port \(one.probePort)",
                "10.0.0.2:8443": "127.0.0.1:\(two.port) port \(two.probePort)",
            ]), in: directory)
        // Another loopback address for the client: only the PROXY header can tell the gateway.
        let app = try App.enrolled(
            "https://localhost:\(port)",
            options: ["--cacert", certificate.certificatePath, "--interface", "127.0.0.77"])
        let fields = try app.signature("GET", "/api/x")
        #expect(try app.exchange("GET", "/api/x", fields: fields).outcome == "200")
        #expect(upstream.requests.last?["X-Forwarded-For"] == "127.0.0.77")
        #expect(
            try app.exchange("GET", "/api/x", fields: fields).outcome == "401 assertion_replayed")
        gateways[0].process.terminate()
        try gateways[0].process.waitForLine(on: .standardError, containing: #""event":"stopping""#)
        // From before the balancer has noticed until after the gateway has gone.
        while gateways[0].process.exitStatus == nil {
            #expect(try app.request("GET", "/api/x").outcome == "200")
        }
        #expect(gateways[0].process.exitStatus == .exited(0))
        try proxy.awaitServers { $0["one"]?.hasPrefix("DOWN") == true && $0["two"] == "UP" }
        #expect(try app.request("GET", "/api/x").outcome == "200")
        #expect(gateways[1].process.exitStatus == nil)
    }
}
