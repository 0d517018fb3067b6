import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import GatewayTesting
import JSON
import JWT
import Testing

@Suite("The stand-in for Apple's services")
struct AppleStandInTests {
    private static let team = "ABCDE12345"
    private static let appID = team + ".com.example.app"
    private static let day: Int64 = 86400
    private let now: Int64 = 1_800_000_000
    private let apple: SimulatedApple
    private let key: P256PrivateKey
    private let standIn: AppleStandIn

    init() throws {
        apple = TestApple.shared
        key = try P256PrivateKey.generate()
        standIn = AppleStandIn(
            apple: apple,
            keys: [SignInKey(teamID: Self.team, keyID: "KEY", publicKey: key.publicKey)],
            secret: [1, 2, 3])
    }
}

extension AppleStandInTests {
    private func token(
        keyID: String = "KEY", team: String = team, at seconds: Int64? = nil,
        key signingKey: P256PrivateKey? = nil
    ) throws -> String {
        let claims = Array(#"{"iss":"\#(team)","iat":\#(seconds ?? now)}"#.utf8)
        let token = try ES256Signer(key: signingKey ?? key, keyID: keyID)
            .token(claims: claims.span)
        return String(decoding: token, as: UTF8.self)
    }

    private func post(
        _ path: String, _ body: [UInt8], authorization: String?,
        environment: AttestEnvironment = .production, at seconds: Int64? = nil
    ) -> StandInReply {
        standIn.reply(
            to: StandInRequest(
                environment: environment, method: "POST", path: path,
                authorization: authorization, body: body), at: seconds ?? now)
    }

    // MARK: signing in

    @Test("lets nobody in but a known key, of its own team, with a token of the last hour")
    func signIn() throws {
        func status(_ authorization: String?) -> Int {
            post("/v1/attestationData", [], authorization: authorization).status
        }
        #expect(status(try token()) == 400)
        #expect(status(try token(at: now - 3599)) == 400)
        #expect(status(try token(at: now + 299)) == 400)
        let good = try token()
        let refused = [
            nil, "", "x", "Bearer " + good, good + "A", String(good.dropLast()), good + ".A",
            try token(keyID: "OTHER"), try token(team: "ZZZZZ99999"), try token(at: now - 3600),
            try token(at: now + 300), try token(key: try P256PrivateKey.generate()),
        ]
        for token in refused { #expect(status(token) == 401, "\(token ?? "nothing")") }
        let parts = good.split(separator: ".")
        let none = Base64.encodeURL(Array(#"{"alg":"none","kid":"KEY"}"#.utf8))
        #expect(status("\(none).\(parts[1]).") == 401)
        standIn.revoke(keyID: "KEY")
        #expect(status(good) == 401)
        standIn.restore(keyID: "KEY")
        #expect(status(good) == 400)
        standIn.authorization = .bearer
        #expect(status(good) == 401)
        #expect(status("Bearer " + good) == 400)
        #expect(post("/v1/query_two_bits", [], authorization: good).status == 401)
    }

    // MARK: receipts

    private func receipt(
        of device: SimulatedDevice, at seconds: Int64, appID: String = appID
    ) throws -> [UInt8] {
        try apple.receipt(
            SimulatedReceipt(
                kind: .attest, appID: appID, attestedKey: device.publicKey.x963, clientHash: [1],
                environment: device.environment, createdAt: seconds))
    }

    private func renew(
        _ receipt: [UInt8], environment: AttestEnvironment = .production, at seconds: Int64? = nil
    ) throws -> StandInReply {
        post(
            "/v1/attestationData", Base64.encodeBytes(receipt),
            authorization: try token(at: seconds), environment: environment, at: seconds)
    }

    @Test("renews a receipt by one that verifies, with a metric, and not too early")
    func renewal() throws {
        let device = try SimulatedDevice(appID: Self.appID)
        let reply = try renew(try receipt(of: device, at: now - Self.day))
        #expect(reply.status == 200)
        let bytes = try #require(Base64.decode(String(decoding: reply.body, as: UTF8.self)))
        #expect(bytes.starts(with: [0x30, 0x80]), "BER, as Apple's")
        let fields = try ReceiptVerifier(roots: [apple.receiptRoot]).verify(
            bytes, appID: Self.appID, publicKey: device.publicKey, environment: .production
        ).fields
        #expect(fields.kind == .receipt && fields.riskMetric == 1)
        #expect(fields.createdAt.seconds == now)
        #expect(fields.notBefore?.seconds == now + Self.day)
        #expect(fields.expiresAt?.seconds == now + 90 * Self.day)
        #expect(fields.clientHash?.count == 54)
        #expect(try renew(bytes, at: now + Self.day - 1).status == 304)
        #expect(try renew(bytes, at: now + Self.day + 1).status == 200)
        #expect(try renew(bytes, at: now + 30 * Self.day).status == 404)
    }

    @Test("refuses receipts that are none, of another root, environment or team, or forgotten")
    func refusals() throws {
        let device = try SimulatedDevice(appID: Self.appID)
        let good = try receipt(of: device, at: now)
        var damaged = good
        // Inside the content, which begins behind some 60 bytes of BER.
        damaged[200] ^= 1
        for body in [[], [1, 2, 3], damaged] {
            #expect(try renew(body) == StandInReply(status: 400, text: "Bad Payload"))
        }
        let other = try receipt(of: device, at: now, appID: "ZZZZZ99999.com.example.app")
        #expect(try renew(other).status == 400)
        #expect(
            try renew(good, environment: .development)
                == StandInReply(status: 400, text: "Incorrect Environment"))
        standIn.forget(device.keyID)
        #expect(try renew(good).status == 404)
    }

    @Test("counts the keys of a device for thirty days, or says what it was told")
    func risk() throws {
        let devices = try (0..<3).map { _ in try SimulatedDevice(appID: Self.appID) }
        standIn.place(devices.map(\.keyID), on: "farm")
        func metric(_ device: SimulatedDevice, at seconds: Int64) throws -> UInt32? {
            let reply = try renew(try receipt(of: device, at: seconds), at: seconds)
            let text = String(decoding: reply.body, as: UTF8.self)
            return try ReceiptVerifier(roots: [apple.receiptRoot]).verify(
                try #require(Base64.decode(text)), appID: nil, publicKey: nil
            ).fields.riskMetric
        }
        for device in devices { #expect(try metric(device, at: now) == 3) }
        #expect(try metric(try SimulatedDevice(appID: Self.appID), at: now) == 1)
        standIn.setRisk(42, of: devices[0].keyID)
        #expect(try metric(devices[0], at: now) == 42)
        #expect(try metric(devices[1], at: now) == 3)
    }

    // MARK: DeviceCheck

    private func body(_ token: String, _ transaction: String, _ more: String = "") -> [UInt8] {
        Array(
            (#"{"device_token":"\#(token)","transaction_id":"\#(transaction)","#
                + #""timestamp":\#(now * 1000)\#(more)}"#).utf8)
    }

    private func ask(
        _ name: String, _ body: [UInt8], environment: AttestEnvironment = .production,
        at seconds: Int64? = nil
    ) throws -> StandInReply {
        post(
            "/v1/" + name, body, authorization: "Bearer " + (try token(at: seconds)),
            environment: environment, at: seconds)
    }

    private func deviceToken(
        _ device: String, team: String = team, _ environment: AttestEnvironment = .production
    ) -> String {
        standIn.deviceToken(device: device, teamID: team, environment: environment)
    }

    @Test("keeps two bits for a device, which is none before they are set")
    func bits() throws {
        let query = "query_two_bits"
        #expect(
            try ask(query, body(deviceToken("even"), "1"))
                == StandInReply(status: 200, text: "Failed to find bit state"))
        #expect(
            try ask(query, body(deviceToken("odd"), "2"))
                == StandInReply(status: 200, text: "Bit State Not Found"))
        let update = try ask(
            "update_two_bits", body(deviceToken("odd"), "3", #","bit0":true,"bit1":false"#))
        #expect(update == StandInReply(status: 200))
        let reply = try ask(query, body(deviceToken("odd"), "4"))
        #expect(
            reply.body
                == Array(#"{"bit0":true,"bit1":false,"last_update_time":"2027-01"}"#.utf8))
        #expect(standIn.bits(teamID: Self.team, device: "even") == nil)
        #expect(standIn.bits(teamID: Self.team, device: "odd") ?? (false, false) == (true, false))
    }

    @Test("takes a token only of the team and the environment, and only for a while")
    func tokens() throws {
        let validate = "validate_device_token"
        let bad = StandInReply(status: 400, text: "Bad Device Token")
        let token = deviceToken("a")
        #expect(try ask(validate, body(token, "1")) == StandInReply(status: 200))
        #expect(try ask(validate, body(token, "2"), at: now + 59) == StandInReply(status: 200))
        #expect(try ask(validate, body(token, "3"), at: now + 60) == bad)
        #expect(try ask(validate, body(deviceToken("a", team: "ZZZZZ99999"), "4")) == bad)
        #expect(try ask(validate, body(deviceToken("a", .development), "5")) == bad)
        #expect(
            try ask(validate, body(deviceToken("a", .development), "6"), environment: .development)
                == StandInReply(status: 200))
        #expect(try ask(validate, body("AAAA", "7")) == bad)
        #expect(
            try ask(validate, body("not base64", "8"))
                == StandInReply(
                    status: 400, text: "Missing or incorrectly formatted device token payload"))
        standIn.deviceTokenLifeSeconds = 0
        let strict = deviceToken("a")
        #expect(try ask(validate, body(strict, "9")) == StandInReply(status: 200))
        #expect(try ask(validate, body(strict, "10")) == bad)
    }

    @Test("refuses what is not as Apple wants it")
    func forms() throws {
        let token = deviceToken("a")
        #expect(try ask("validate_device_token", body(token, "1")).status == 200)
        #expect(try ask("validate_device_token", body(token, "1")).status == 400, "a transaction")
        #expect(try ask("validate_device_token", body(token, "")).status == 400)
        #expect(try ask("validate_device_token", Array("{}".utf8)).status == 400)
        #expect(try ask("validate_device_token", []).status == 400)
        #expect(try ask("update_two_bits", body(token, "2", #","bit0":true"#)).status == 400)
        #expect(try ask("update_two_bits", body(token, "3", #","bit0":1,"bit1":0"#)).status == 400)
        #expect(try ask("other", body(token, "4")).status == 404)
        let late = try ask("validate_device_token", body(token, "5"), at: now + 2 * Self.day)
        #expect(late.status == 400, "the time stamp is two days old")
    }

    // MARK: faults

    @Test("does wrong what it was told to, as often, and to whom")
    func faults() throws {
        var fault = StandInFault()
        fault.service = .attestationData
        fault.environment = .production
        fault.count = 2
        fault.reply = StandInReply(status: 429)
        fault.reply?.retryAfter = "7"
        fault.conduct = .cut
        standIn.add(fault)
        #expect(try renew([], environment: .development).status == 400)
        #expect(try ask("validate_device_token", body(deviceToken("a"), "1")).status == 200)
        for _ in 0..<2 {
            let reply = try renew([])
            #expect(reply.status == 429 && reply.retryAfter == "7" && reply.conduct == .cut)
        }
        #expect(try renew([]).status == 400)
        var lasting = StandInFault()
        lasting.count = nil
        lasting.delay = .milliseconds(5)
        standIn.add(lasting)
        for _ in 0..<3 {
            let reply = try renew([])
            #expect(reply.status == 400 && reply.delay == .milliseconds(5))
        }
        standIn.clearFaults()
        #expect(try renew([]).delay == .zero)
        #expect(standIn.records.count == 9 && standIn.requestCount == 9)
        #expect(standIn.records.first?.environment == .development)
        #expect(standIn.records.map(\.keyID).filter { $0 == nil }.count == 2)
        standIn.clearRecords()
        #expect(standIn.records.isEmpty)
    }
}
