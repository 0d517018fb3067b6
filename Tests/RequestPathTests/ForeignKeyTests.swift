import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "Keys of other issuers", .enabled(if: BuiltProgram.isBuilt && NginxServer.isInstalled))
struct ForeignKeyTests {
    private typealias Site = ForeignProofSite
    private let directory: ScratchDirectory
    private let key: IssuerKey

    init() throws {
        directory = try ScratchDirectory()
        key = try IssuerKey("ES256", id: "old", in: directory)
    }
}

extension ForeignKeyTests {
    /// A gateway whose issuer has nginx speak TLS for it, with a certificate of `signer`, where
    /// `authority` is trusted.
    private func securedSite(
        _ signer: TestCertificate, trusting authority: TestCertificate, awaitsKeys: Bool = true
    ) throws -> (site: Site, server: NginxServer) {
        let host = try TestCertificate(in: directory, "host", names: ["127.0.0.1"], issuer: signer)
        var server: NginxServer?
        let site = try Site(
            Site.keys(key.jwk()), proof: "ca: \(authority.certificatePath)",
            url: { issuer, _ in
                let nginx = try NginxServer(
                    locations: """
                        ssl_certificate \(host.certificatePath);
                        ssl_certificate_key \(host.keyPath);
                        location / { proxy_pass http://127.0.0.1:\(issuer.port); }
                        """, options: "ssl")
                server = nginx
                return "https://127.0.0.1:\(nginx.port)/jwks"
            }, awaitsKeys: awaitsKeys)
        return (site, try #require(server))
    }

    @Test("rotate under load, by TLS, and no token of a published key is refused meanwhile")
    func rotation() throws {
        let authority = try TestCertificate.authority(in: directory)
        let (site, server) = try securedSite(authority, trusting: authority)
        let next = try IssuerKey("RS256", id: "new", in: directory)
        let (old, new) = (try key.token(Site.claims()), try next.token(Site.claims()))
        #expect(try site.send(old).status == 200)
        #expect(try site.send(new).outcome == "401 token_invalid")
        let load = SteadyLoad(port: site.gateway.port, token: old)
        let both = Site.keys(key.jwk(), next.jwk())
        site.issuer.answer { _ in both }
        try site.reload()
        try site.awaitKeys(2)
        for _ in 0..<20 { #expect(try site.send(new).status == 200) }
        #expect(load.stop().allSatisfy { $0 == 200 })
        let rest = Site.keys(next.jwk())
        let later = SteadyLoad(port: site.gateway.port, token: new)
        site.issuer.answer { _ in rest }
        try site.reload()
        try site.awaitKeys(1)
        #expect(try site.send(old).outcome == "401 token_invalid")
        #expect(later.stop().allSatisfy { $0 == 200 })
        let doctor = try BuiltProgram.run(["doctor", "-c", site.gateway.configurationPath])
        #expect(doctor.standardOutput.contains("/jwks, keys: 1; they are fetched again after 60m"))
        withExtendedLifetime(server) {}
    }

    @Test("an issuer whose certificate nobody vouches for has none")
    func untrusted() throws {
        let authority = try TestCertificate.authority(in: directory)
        let stranger = try TestCertificate.authority(in: directory, "stranger")
        let (site, server) = try securedSite(stranger, trusting: authority, awaitsKeys: false)
        let event = try site.gateway.waitForEvent("jwks_down")
        #expect(event["message"]?.stringValue?.contains("not trusted") == true)
        #expect(try site.send(key.token(Site.claims())).outcome == "503 store_unavailable")
        #expect(site.issuer.requests.isEmpty)
        let doctor = try BuiltProgram.run(["doctor", "-c", site.gateway.configurationPath])
        #expect(doctor.standardOutput.contains("FAIL  proof issuer: https://127.0.0.1:"))
        withExtendedLifetime(server) {}
    }

    @Test("outlive a kill while the issuer is down, and not in a file that was changed")
    func kept() throws {
        let site = try Site(Site.keys(key.jwk()))
        let token = try key.token(Site.claims())
        let path = site.gateway.directory.path(of: "registry.db.jwks-issuer")
        try awaitFile(path)
        site.issuer.answer { _ in .response(500) }
        try site.gateway.restart(byKill: true)
        #expect(try site.send(token).status == 200)
        try site.gateway.terminate()
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try text.replacing("old", with: "new").write(
            toFile: path, atomically: false, encoding: .utf8)
        try site.gateway.start()
        let event = try site.gateway.waitForEvent("jwks_unread")
        #expect(event["message"]?.stringValue == "proofs.issuer: \(path): is damaged")
        #expect(try site.send(token).outcome == "503 store_unavailable")
    }

    @Test("that have not come yet are told at once, to operators alone, and hold nothing back")
    func awaited() throws {
        let (gate, probes) = (Gate(), FreePort.find())
        let site = try Site(
            .response(after: gate, body: IssuerKey.document([key.jwk()])),
            probes: "127.0.0.1:\(probes)", awaitsKeys: false)
        let ready = try site.gateway.admin("/readyz")
        #expect(ready.status == 200 && ready.bodyText == "ready\nwithout keys of: issuer\n")
        #expect(try RawClient(port: probes).exchange("GET", "/readyz").bodyText == "ready\n")
        let problems = try #require(try site.status()["problems"]?.arrayValue)
        #expect(problems.contains { $0["name"]?.stringValue == "jwks_missing" })
        gate.open()
        try site.awaitKeys(1)
        #expect(try site.gateway.admin("/readyz").bodyText == "ready\n")
    }

    /// Waits until a file is there; no event tells.
    private func awaitFile(_ path: String) throws {
        try waitWhile(!FileManager.default.fileExists(atPath: path))
    }

    @Test("are pinned by a file, and changed by SIGHUP")
    func pinned() throws {
        let path = directory.path(of: "jwks.json")
        try directory.write(IssuerKey.document([key.jwk()]), to: "jwks.json")
        let site = try Site(.dies, url: { _, _ in path }, awaitsKeys: false)
        let next = try IssuerKey("ES256", id: "new", in: directory)
        let (old, new) = (try key.token(Site.claims()), try next.token(Site.claims()))
        #expect(try site.send(old).status == 200)
        #expect(try site.send(new).outcome == "401 token_invalid")
        try directory.write(IssuerKey.document([next.jwk()]), to: "jwks.json")
        try site.reload()
        #expect(try site.send(old).outcome == "401 token_invalid")
        #expect(try site.send(new).status == 200)
        #expect(site.issuer.requests.isEmpty)
    }

    @Test("the presets take what Firebase and Approov make")
    func presets() throws {
        let upstream = try RecordingUpstream()
        let rsa = try IssuerKey("RS256", id: "r", in: directory)
        let document = IssuerKey.document([key.jwk(), rsa.jwk(["alg": "RS256"])])
        try directory.write(document, to: "jwks.json")
        let secret = [UInt8](repeating: 5, count: 64)
        let secretPath = try directory.write(Base64.encode(secret) + "\n", to: "approov")
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port,
            attest: "mode: enforce, accept: [assertion, proof:firebase, proof:approov]")
        configuration.more = [
            """
            proofs:
              firebase: { preset: firebase_app_check, project: "1234", jwks: JWKS }
              approov: { preset: approov, secret_file: \(secretPath), tier: token }
            """.replacing("JWKS", with: directory.path(of: "jwks.json"))
        ]
        let gateway = try GatewayProcess(configuration)
        let now = Int(Date().timeIntervalSince1970)
        let firebase =
            #"{"iss":"https://firebaseappcheck.googleapis.com/1234","sub":"1:1234:ios:a","#
            + #""aud":["projects/1234","projects/name"],"iat":\#(now),"exp":\#(now + 60)}"#
        // App Check signs by RS256; this key is of ES256.
        let other = try key.token(firebase)
        func send(_ name: String, _ token: String) throws -> HTTPMessage {
            try gateway.exchange("GET", "/api/x", fields: [(name, token)])
        }
        #expect(try send("X-Firebase-AppCheck", other).outcome == "401 token_invalid")
        #expect(try send("X-Firebase-AppCheck", rsa.token(firebase)).status == 200)
        let wrong = firebase.replacing("/1234", with: "/1235")
        #expect(try send("X-Firebase-AppCheck", rsa.token(wrong)).outcome == "401 token_invalid")
        #expect(upstream.requests.last?["X-Attest-Proof"] == "firebase")
        let signed = IssuerKey.unsigned(
            #"{"alg":"HS256","typ":"JWT"}"#, #"{"exp":\#(now + 60),"ip":"192.0.2.1"}"#)
        let code = HMACSHA256.authenticate(Array(signed.utf8), key: HMACKey(secret))
        let approov = "\(signed).\(Base64.encodeURL(code.array))"
        #expect(try send("Approov-Token", approov).status == 200)
        #expect(upstream.requests.last?["X-Attest-Proof"] == "approov")
        #expect(upstream.requests.last?["X-Attest-Tier"] == "token")
        #expect(try send("Approov-Token", approov + "A").outcome == "401 token_invalid")
        let doctor = try BuiltProgram.run(["doctor", "-c", gateway.configurationPath])
        #expect(
            doctor.standardOutput.contains(
                "jwks.json, pinned keys: 1, left out: 1 (1 for none of the algorithms)"))
    }
}

/// Requests with one token, one after the other, until it is stopped.
private final class SteadyLoad: @unchecked Sendable {
    private let lock = NSLock()
    private var isStopped = false
    private var statuses: [Int] = []
    private let ended = DispatchSemaphore(value: 0)

    init(port: UInt16, token: String) {
        Thread.detachNewThread { [self] in
            defer { ended.signal() }
            guard let client = try? RawClient(port: port) else { return }
            while !lock.withLock({ isStopped }) {
                let answer = try? client.exchange(
                    "GET", "/api/x", fields: [(ForeignProofSite.header, token)])
                lock.withLock { statuses.append(answer?.status ?? 0) }
            }
        }
    }

    func stop() -> [Int] {
        lock.withLock { isStopped = true }
        ended.wait()
        return statuses
    }
}
