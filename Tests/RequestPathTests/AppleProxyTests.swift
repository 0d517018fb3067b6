import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

/// Gateways that reach the stand-in for Apple through real forward proxies that want a login.
@Suite(
    "Renewal of receipts through a proxy",
    .enabled(if: BuiltProgram.isBuilt && ForwardProxy.isInstalled), .timeLimit(.minutes(30)))
final class AppleProxyTests: ReceiptSite {
    static let kinds: [ForwardProxy.Kind] = [.http, .https, .socks5h]

    let apple: AppleServer
    let site: FaultSite

    init() throws {
        apple = try AppleServer()
        site = try FaultSite()
        site.configuration.extraRootPaths = [TestApple.rootPath, apple.receiptRootPath]
    }
}

extension AppleProxyTests {
    /// A proxy of this kind, and a configuration that asks Apple through it.
    private func proxy(_ kind: ForwardProxy.Kind) throws -> ForwardProxy {
        var authorities = try String(contentsOfFile: apple.tlsAuthorityPath, encoding: .utf8)
        var certificate: TestCertificate?
        if kind == .https {
            let authority = try TestCertificate.authority(in: site.directory)
            certificate = try TestCertificate(in: site.directory, "proxy", issuer: authority)
            authorities += String(decoding: try authority.certificatePEM, as: UTF8.self)
        }
        try site.directory.write(authorities, to: "apple-ca.pem")
        let proxy = try ForwardProxy(kind, to: apple.productionPort, certificate: certificate)
        try ask(through: proxy.url())
        return proxy
    }

    /// The stand-in by its name, which `socks5h` leaves to the proxy to look up.
    private func ask(through url: String, timeout: String = "10s") throws {
        let settings = try apple.settings
            .replacingOccurrences(of: "proxy: off", with: "proxy: \"\(url)\"")
            .replacingOccurrences(of: "https://127.0.0.1:", with: "https://localhost:")
            .replacingOccurrences(
                of: apple.tlsAuthorityPath, with: site.directory.path(of: "apple-ca.pem"))
        site.configuration.more = [
            settings + "  timeout: \(timeout)\n",
            "receipts: { retry: { shortest: 1s, failed: 1m }, lease: 5s }",
        ]
    }

    /// Waits for a key's failed renewal, which is to be tried again, and returns what the log says.
    private func failure(of device: SimulatedDevice, _ gateway: GatewayProcess) throws -> String {
        try wait(for: "unreachable", of: device, gateway)
        #expect(try state("next_renewal", of: device, gateway) != nil)
        let event = try gateway.waitForEvent("receipts_backing_off")
        return event["message"]?.stringValue ?? ""
    }

    /// An operator need not wait until the receipt is due again.
    private func renew(_ device: SimulatedDevice, _ gateway: GatewayProcess) throws {
        #expect(try keys("renew", [device.keyID.base64], gateway).status == .exited(0))
        try wait(for: "renewed", of: device, gateway)
    }

    /// Holds all that an operator, or who reads along, sees to have no password in it.
    private func expectNoPassword(_ gateway: GatewayProcess, _ password: String) throws {
        var said = [
            gateway.current.text(on: .standardError), gateway.current.text(on: .standardOutput),
            try gateway.admin("/metrics").bodyText, try gateway.admin("/").bodyText,
        ]
        for command in [["check"], ["check", "--print"], ["doctor"]] {
            let outcome = try BuiltProgram.run(command + ["-c", gateway.configurationPath])
            said += [outcome.standardOutput, outcome.standardError]
        }
        #expect(said.allSatisfy { !$0.contains(password) })
    }

    @Test("a receipt is renewed through it, and it is asked for Apple's name", arguments: kinds)
    func renewed(_ kind: ForwardProxy.Kind) throws {
        let proxy = try proxy(kind)
        let gateway = try site.start()
        let device = try enrol(at: gateway)
        try wait(for: "renewed", of: device, gateway)
        let isTold = eventually { !proxy.targets.isEmpty }
        let target = "localhost:\(apple.productionPort)"
        #expect(isTold && proxy.targets.allSatisfy { $0 == target }, "\(proxy.targets)")
        #expect(try apple.requests.allSatisfy { $0.hasSuffix(" 200") })
        try expectNoPassword(gateway, ForwardProxy.password)
        try gateway.terminate()
        #expect(gateway.alarms.isEmpty)
    }

    @Test("a wrong password is told, ends no receipt and is mended by a reload", arguments: kinds)
    func wrongPassword(_ kind: ForwardProxy.Kind) throws {
        let proxy = try proxy(kind)
        let wrong = "wrong-battery-3Kz"
        try ask(through: proxy.url(password: wrong))
        let gateway = try site.start()
        let device = try enrol(at: gateway)
        let message = try failure(of: device, gateway)
        // tinyproxy answers 401 to a login that it does not know, and 407 to none.
        let words =
            kind == .socks5h ? ["SOCKS5"] : ["the proxy answered 401", "the proxy answered 407"]
        #expect(words.contains { message.contains($0) }, "\(message)")
        #expect(try apple.requests.isEmpty)
        try expectNoPassword(gateway, wrong)
        try ask(through: proxy.url())
        _ = try gateway.reload(site.configuration)
        try renew(device, gateway)
        try expectNoPassword(gateway, ForwardProxy.password)
    }

    @Test("one that is down, and back on its port later, is waited for", arguments: kinds)
    func down(_ kind: ForwardProxy.Kind) throws {
        let proxy = try proxy(kind)
        let gateway = try site.start()
        let before = try enrol(at: gateway)
        try wait(for: "renewed", of: before, gateway)
        try proxy.kill()
        // The connection through it is gone, too.
        let device = try enrol(at: gateway)
        _ = try failure(of: device, gateway)
        try proxy.start()
        try renew(device, gateway)
        #expect(gateway.isUnharmed)
    }

    @Test("one that takes connections and is silent costs no more than the timeout")
    func stopped() throws {
        let proxy = try proxy(.http)
        try ask(through: proxy.url(), timeout: "1s")
        let gateway = try site.start()
        proxy.stop()
        let device = try enrol(at: gateway)
        let message = try failure(of: device, gateway)
        #expect(message.hasPrefix("unreachable (no answer in time): "), "\(message)")
        proxy.resume()
        try renew(device, gateway)
        #expect(gateway.isUnharmed)
    }
}
