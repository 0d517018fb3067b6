import GatewayTesting
import Settings
import Testing

@testable import Gateway

/// Questions of proxies about requests that a phone has signed.
@Suite("Check listeners and Android keys")
struct AndroidCheckTests {}

extension AndroidCheckTests {
    private static let target = "/attested/x"

    /// The call that asks about a `GET` of ``target`` with these fields.
    private static func call(
        _ dialect: CheckDialect, _ fields: [(String, String)]
    ) -> (target: String, fields: [(String, String)]) {
        switch dialect {
        case .envoy: ("/check" + target, fields)
        case .nginx:
            (
                "/check",
                [
                    ("X-Original-Method", "GET"), ("X-Original-URI", target),
                    ("X-Original-Host", "a"),
                ] + fields
            )
        case .forward, .envoyGRPC, .json:
            (
                "/check",
                [
                    ("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", target),
                    ("X-Forwarded-Host", "a"),
                ] + fields
            )
        }
    }

    @Test(
        "tell the platform and the level of a phone's key, and refuse its request again",
        arguments: [CheckDialect.nginx, .forward, .envoy])
    func asked(dialect: CheckDialect) throws {
        let gateway = try PhoneClient.gateway()
        let phone = try PhoneClient(gateway)
        #expect(try phone.enrol().status == 200)
        let signed = try phone.fields("GET", Self.target)
        try gateway.reload(listener: 0) { listener in
            var check = CheckSettings()
            check.dialect = dialect
            check.from = [.block(AddressBlock(address: [127, 0, 0, 0], prefixBitCount: 8))]
            listener.check = check
        }
        let client = try gateway.client()
        let (target, fields) = Self.call(dialect, signed)
        let allowed = try client.exchange("GET", target, fields: fields)
        #expect(allowed.status == 200)
        #expect(allowed["X-Attest-Platform"] == "android")
        #expect(allowed["X-Attest-App"] == PhoneClient.package)
        #expect(allowed["X-Attest-Security-Level"] == "tee")
        let again = try client.exchange("GET", target, fields: fields)
        #expect([401, 403].contains(again.status) && again["X-Attest-App"] == nil)
    }
}
