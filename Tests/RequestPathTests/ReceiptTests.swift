import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

/// Gateways that renew receipts, with a stand-in for Apple's server.
@Suite(
    "Renewal of receipts", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
final class ReceiptTests: ReceiptSite {
    let apple: AppleServer
    let site: FaultSite

    init() throws {
        apple = try AppleServer()
        site = try FaultSite()
        site.configuration.extraRootPaths = [TestApple.rootPath, apple.receiptRootPath]
        site.configuration.more = [try apple.settings, "receipts: { lease: 5s }"]
    }
}

extension ReceiptTests {
    @Test("a key's receipt is exchanged soon after it enrolled, and the upstream hears the risk")
    func exchanged() throws {
        let gateway = try site.start()
        let device = try enrol(at: gateway)
        let other = try enrol(at: gateway)
        // Cached before anything is known.
        #expect(try device.call("strict", at: gateway).exchange(with: gateway).status == 200)
        try wait(for: "renewed", of: device, gateway)
        try wait(for: "renewed", of: other, gateway)
        let heard = try eventually {
            let answer = try device.call("strict", at: gateway).exchange(with: gateway)
            #expect(answer.status == 200)
            return site.upstream.requests.last?["X-Attest-Risk"] == "1"
        }
        #expect(heard)
        #expect(site.upstream.requests.first?["X-Attest-Risk"] == nil)
        let shown = try shown(device, gateway)
        #expect(shown["risk_metric"]?.integerValue == 1)
        #expect(shown["receipt_state"]?["type"]?.stringValue == "RECEIPT")
        for member in ["created_at", "not_before", "expires_at", "next_renewal", "last_attempt"] {
            #expect(shown["receipt_state"]?[member] != nil, "\(member)")
        }
        #expect(
            try apple.requests
                == Array(
                    repeating: "attestation_data production /v1/attestationData ABC123DEFG 200",
                    count: 2))
        #expect(try gateway.metric("sallyport_receipt_lease_held") == 1)
        #expect(try gateway.metric("sallyport_receipt_spacing_seconds") == 0.05)
        #expect(try gateway.admin("/").bodyText.contains("this gateway renews them"))
        try gateway.terminate()
        #expect(gateway.alarms.isEmpty)
    }

    @Test(
        "what an attestation carries is kept only where it is this key's first receipt",
        arguments: [
            (ReceiptForm.damaged, "receipt_cms_invalid"), (.exchanged, "receipt_type"),
            (.otherEnvironment, "receipt_environment_mismatch"),
        ])
    func firstReceipt(_ form: ReceiptForm, _ detail: String) throws {
        let gateway = try site.start()
        let device = try enrol(at: gateway, receipt: form)
        let shown = try shown(device, gateway)
        #expect(shown["receipt"] == nil && shown["receipt_state"] == nil)
        // It could say of its device what it likes.
        #expect(shown["risk_metric"] == nil)
        let line = try gateway.accessLine {
            $0["detail"]?.stringValue?.hasPrefix("receipt_") == true
        }
        #expect(line["detail"]?.stringValue == detail)
        #expect(try device.call("strict", at: gateway).exchange(with: gateway).status == 200)
        #expect(try apple.requests.isEmpty)
    }

    @Test("a key that Apple does not take stops everything, loudly, until a reload finds it mended")
    func unauthorized() throws {
        try apple.revoke(AppleServer.keyID)
        let gateway = try site.start()
        let device = try enrol(at: gateway)
        let event = try gateway.waitForEvent("receipts_unauthorized")
        #expect(event["level"]?.stringValue == "error")
        #expect(event["message"]?.stringValue?.contains("ABCDE12345") == true)
        #expect(
            try eventually {
                try gateway.metric("sallyport_receipt_renewal_paused{reason=\"unauthorized\"}") == 1
            })
        #expect(try state("last_outcome", of: device, gateway) == nil)
        try apple.revoke(AppleServer.keyID, isRevoked: false)
        _ = try gateway.reload(site.configuration)
        try wait(for: "renewed", of: device, gateway)
    }

    @Test("Apple is left alone when it throttles or fails, and asked again when that is over")
    func backOff() throws {
        site.configuration.more[1] =
            "receipts: { retry: { shortest: 1s, failed: 1m }, lease: 5s }"
        try apple.fail(.attestationData, status: 429, retryAfter: "1")
        let gateway = try site.start()
        let device = try enrol(at: gateway)
        let event = try gateway.waitForEvent("receipts_backing_off")
        #expect(event["message"]?.stringValue?.hasPrefix("throttled: ") == true)
        // It says nothing of the receipt, which is the next one to be sent.
        try wait(for: "renewed", of: device, gateway)
        #expect(try renewals("throttled", gateway) == 1)
        try apple.fail(.attestationData, status: 503)
        let second = try enrol(at: gateway)
        try wait(for: "server_error", of: second, gateway)
        #expect(try shown(second, gateway)["receipt_state"]?["failures"]?.integerValue == 1)
        // Another one is not held up by it.
        let third = try enrol(at: gateway)
        try wait(for: "renewed", of: third, gateway)
    }

    @Test("what Apple says of a receipt is kept with it, and what does not verify is refused")
    func judgements() throws {
        let gateway = try site.start()
        let stranger = try site.device()
        let foreign = try TestApple.shared.receipt(
            SimulatedReceipt(
                kind: .receipt, appID: GatewayConfiguration.appID,
                attestedKey: stranger.publicKey.x963, clientHash: [], environment: .production,
                createdAt: Int64(Date().timeIntervalSince1970), riskMetric: 1))
        for (status, body, outcome, isDue) in [
            (400, "Bad Payload", "bad_payload", false),
            (400, "Incorrect Environment", "wrong_environment", false),
            (404, "", "not_found", true), (304, "", "too_early", true),
            (200, Base64.encode(foreign), "receipt_invalid", true),
        ] {
            try apple.fail(.attestationData, status: status, body: body)
            let device = try enrol(at: gateway)
            try wait(for: outcome, of: device, gateway)
            let isStillDue = try state("next_renewal", of: device, gateway) != nil
            #expect(isStillDue == isDue, "\(outcome)")
            #expect(try state("type", of: device, gateway) == "ATTEST", "\(outcome)")
        }
        let event = try gateway.waitForEvent("receipt_invalid")
        #expect(event["message"]?.stringValue?.contains("key_mismatch") == true)
        _ = try gateway.waitForEvent("receipt_refused")
    }

    @Test("a reload that fails leaves the way to Apple as it was")
    func failedReload() throws {
        let gateway = try site.start()
        var next = site.configuration
        next.more = []
        next.binds.append("127.0.0.1:\(site.upstream.port)")
        let event = try gateway.reload(next)
        #expect(event["event"]?.stringValue == "reload_failed")
        let device = try enrol(at: gateway)
        try wait(for: "renewed", of: device, gateway)
    }

    @Test(
        "a reload that ends renewals lets go of the lease, and one that brings them back takes it")
    func turnedOff() throws {
        let gateway = try site.start()
        #expect(try eventually { try gateway.metric("sallyport_receipt_lease_held") == 1 })
        let on = site.configuration.more
        site.configuration.more[1] = "receipts: { renew: off }"
        _ = try gateway.reload(site.configuration)
        #expect(try eventually { try gateway.metric("sallyport_receipt_lease_held") == 0 })
        let device = try enrol(at: gateway)
        site.configuration.more = on
        _ = try gateway.reload(site.configuration)
        try wait(for: "renewed", of: device, gateway)
        try gateway.terminate()
        // Won, let go of, won again, let go of at the end.
        let lines = gateway.current.lines(on: .standardError)
        #expect(lines.count { $0.contains(#""event":"receipts_lease""#) } == 4)
    }

    @Test("a reload that brings other keys of Apple's loses no renewal and repeats none")
    func otherKeys() throws {
        let keys = [AppleServer.keyID, "XYZ987WVUT", "QRS456TUVW"]
        let apple = try AppleServer(keys: keys)
        site.configuration.extraRootPaths[1] = apple.receiptRootPath
        let lines = try apple.settings.split(separator: "\n").map(String.init)
        /// The section with one of the keys, which are three lines each.
        func settings(_ number: Int) -> String {
            let key = lines[(2 + 3 * number)...].prefix(3)
            return (lines[..<2] + key + lines[(2 + 3 * keys.count)...]).joined(separator: "\n")
        }
        site.configuration.more = [settings(0), "receipts: { renew: off }"]
        let gateway = try site.start()
        var devices = try (0..<12).map { _ in try enrol(at: gateway) }
        // Each answer takes a while, so that there are always some under way.
        try apple.fail(.attestationData, count: 0, delayMilliseconds: 300)
        for (number, keyID) in keys.enumerated() {
            site.configuration.more = [
                settings(number), "receipts: { lease: 5s, rate: 20/s, jitter: 0s }",
            ]
            _ = try gateway.reload(site.configuration)
            // Whatever was left, these can only be signed in with this one.
            devices += try (0..<6).map { _ in try enrol(at: gateway) }
            #expect(try eventually { try apple.requests.count { $0.contains(keyID) } >= 4 })
            if number == 1 { try apple.revoke(keys[0]) }
        }
        for device in devices { try wait(for: "renewed", of: device, gateway) }
        let requests = try apple.requests
        #expect(requests.count == devices.count && requests.allSatisfy { $0.hasSuffix(" 200") })
        #expect(try renewals("renewed", gateway) == Double(devices.count))
        #expect(try gateway.metric("sallyport_receipt_renewals_superseded_total") == 0)
        try gateway.terminate()
        #expect(gateway.alarms.isEmpty)
    }

    @Test("what a 400 has ended an operator begins again, key by key or all of them")
    func ordered() throws {
        try apple.fail(.attestationData, status: 400, body: "Bad Payload", count: 3)
        let gateway = try site.start()
        let devices = try (0..<3).map { _ in try enrol(at: gateway) }
        for device in devices { try wait(for: "bad_payload", of: device, gateway) }
        let first = try keys("renew", [devices[0].keyID.base64], gateway)
        #expect(first.status == .exited(0))
        #expect(!first.standardError.contains("none will be sent"))
        #expect(first.standardOutput == "\(devices[0].keyID.base64): due now\n")
        try wait(for: "renewed", of: devices[0], gateway)
        let others = try keys("renew", ["--outcome", "bad_payload"], gateway)
        #expect(others.status == .exited(0))
        #expect(others.standardOutput == "2 receipts made due\n")
        for device in devices { try wait(for: "renewed", of: device, gateway) }
        // Apple has no newer one for a day.
        let again = try keys("renew", [devices[1].keyID.base64], gateway)
        #expect(again.standardOutput.contains(": due at 20"))
        #expect(try apple.requests.count == 6)
        let revoked = devices[2].keyID.base64
        #expect(try keys("revoke", [revoked], gateway).status == .exited(0))
        let unknown = String(repeating: "A", count: 43)
        let refused = try keys("renew", [revoked, unknown], gateway)
        #expect(refused.status == .exited(1))
        #expect(refused.standardError.contains("\(revoked): is not active"))
        #expect(refused.standardError.contains("unknown key"))
        for words in [
            [], ["--outcome", "nonsense"], ["--outcome", "any", revoked], ["--outcome"],
        ] { #expect(try keys("renew", words, gateway).status == .exited(2), "\(words)") }
    }

    @Test("an order that nobody will carry out says so")
    func orderedOff() throws {
        site.configuration.more[1] = "receipts: { renew: off }"
        let gateway = try site.start()
        let device = try enrol(at: gateway)
        let outcome = try keys("renew", ["--outcome", "never"], gateway)
        #expect(outcome.status == .exited(0))
        #expect(outcome.standardOutput == "0 receipts made due\n")
        #expect(outcome.standardError.contains("receipts.renew is off"))
        #expect(
            try keys("renew", [device.keyID.base64], gateway).standardOutput
                == "\(device.keyID.base64): was due\n")
    }

    @Test("receipts are kept and not renewed where that is off, and doctor tells who is left out")
    func off() throws {
        site.configuration.more[1] = "receipts: { renew: off }"
        let gateway = try site.start()
        let device = try enrol(at: gateway)
        #expect(try state("type", of: device, gateway) == "ATTEST")
        #expect(try state("next_renewal", of: device, gateway) != nil)
        #expect(try gateway.metric("sallyport_receipt_renewal_paused{reason=\"off\"}") == 1)
        var doctor = try BuiltProgram.run(["doctor", "-c", gateway.configurationPath])
        #expect(doctor.standardOutput.contains("ok    receipts: kept, and not renewed"))
        site.configuration.apps.append(
            "{ id: FGHIJ12345.com.example.app, environments: [production] }")
        for index in site.configuration.routes.indices
        where site.configuration.routes[index].attest != "mode: off" {
            site.configuration.routes[index].attest += ", apps: any"
        }
        site.configuration.more[1] = "receipts: { lease: 5s }"
        _ = try gateway.reload(site.configuration)
        try wait(for: "renewed", of: device, gateway)
        doctor = try BuiltProgram.run(["doctor", "-c", gateway.configurationPath])
        #expect(
            doctor.standardOutput.contains("ok    receipts of \(GatewayConfiguration.appID): "))
        #expect(
            doctor.standardOutput.contains(
                "warn  receipts of FGHIJ12345.com.example.app: not renewed: apple.keys has no key"
                    + " of team FGHIJ12345"))
        // The doctor has shown the key, too, with a receipt that is none.
        #expect(try apple.requests.filter { $0.hasSuffix(" 200") }.count == 1)
    }

    @Test(
        "of two gateways one renews; when it is killed the other goes on, and no key is left out",
        .enabled(if: PostgresServer.isInstalled))
    func takeover() throws {
        let server = try PostgresServer.shared.get()
        let database = try server.makeDatabase()
        let secret = try site.directory.write(
            Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString() + "\n",
            to: "challenge-keys")
        site.configuration.registry = "postgres: \"\(server.url(database))\", pool: 2"
        // Longer than a busy machine holds up the gateway that has it.
        site.configuration.more[1] = "receipts: { lease: 15s }"
        site.configuration.more.append("secrets: { challenge_key_file: \(secret) }")
        let gateways = [try site.start(), try site.start()]
        func holds(_ gateway: GatewayProcess) throws -> Bool {
            try gateway.metric("sallyport_receipt_lease_held") == 1
        }
        #expect(try eventually { try gateways.contains(where: holds) })
        let holder = try #require(try gateways.first(where: holds))
        let other = try #require(gateways.first { $0.port != holder.port })
        #expect(try !holds(other))
        let before = try enrol(at: other)
        try wait(for: "renewed", of: before, holder)
        // Requests are under way when the holder dies: nobody hears their answers.
        try apple.fail(.attestationData, conduct: .silent, count: 2)
        let stuck = [try enrol(at: other), try enrol(at: holder)]
        #expect(try eventually { try apple.requests.count >= 3 })
        try holder.kill()
        try apple.clearFaults()
        for device in stuck { try wait(for: "renewed", of: device, other) }
        #expect(try holds(other))
        // The one that comes back leaves it to the other.
        try holder.start()
        let after = try enrol(at: holder)
        try wait(for: "renewed", of: after, other)
        #expect(try !holds(holder))
        // A stop hands over at once: the lease need not run out.
        try other.terminate()
        #expect(try eventually { try holds(holder) })
        // The caches of the other gateway have heard of the metric.
        #expect(try before.call("strict", at: holder).exchange(with: holder).status == 200)
        #expect(site.upstream.requests.last?["X-Attest-Risk"] == "1")
    }
}
