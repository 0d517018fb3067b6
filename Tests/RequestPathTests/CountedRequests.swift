import AndroidAttestationTesting
import AppAttestTesting
import Foundation
import GatewayTesting

/// Requests of one device of each platform on a warm connection to a gateway under callgrind, each
/// counted.
final class CountedRequests {
    /// What a request proves, and with what.
    enum Proof: String, CaseIterable {
        case plain, assertion, token
    }

    private let site: FaultSite
    private let counted: CountedGateway
    private let client: RawClient
    private let device: SimulatedDevice
    /// Nil if the gateway has no app for Android.
    private var phone: SimulatedPhone?
    private var token = ""
    private var http2: (client: HTTP2Client, nextStream: UInt32)?

    /// `configure` adds to the gateway's configuration.
    init(
        counters: String = "embedded", admitsPhones: Bool = false,
        _ configure: (FaultSite) -> Void = { _ in }
    ) throws {
        // The upstream says how long it keeps connections. Without that, what cannot be repeated
        // takes a new one whenever the machine was so busy that a second has passed.
        site = try FaultSite(
            counters: counters,
            upstream: RecordingUpstream { _ in .response(fields: [("Keep-Alive", "timeout=60")]) },
            admitsPhones: admitsPhones)
        site.configuration.routes.append(
            .init(
                "tokens", path: "/tokens/*",
                attest: "mode: enforce, accept: [assertion, token], apps: any"))
        configure(site)
        counted = try CountedGateway(
            site.configuration, directory: site.directory, isOneThread: true)
        device = try site.device()
        client = try counted.gateway.connect()
        let attestation = try site.attestation(device, challenge: challenge("/attest/challenge"))
        _ = try answered { try client.exchange("POST", "/attest/verify", body: attestation) }
        guard admitsPhones else { return }
        let phone = try SimulatedPhone.ofTests()
        let body = try phone.enrolmentBody(
            challenge: challenge("/attest/challenge"), by: site.google)
        _ = try answered { try client.exchange("POST", "/attest/verify", body: body) }
        self.phone = phone
    }

    /// What a request takes that the phone has signed.
    func costOfPhone() throws -> CallgrindDump {
        guard let phone else { throw RawSocketError("there is no phone") }
        let call = try TestDevice.android(phone).call(
            "strict", challenge: challenge("/assert/challenge"))
        return try answered { try call.exchange(on: client) }
    }

    /// What one request takes with this proof.
    func cost(
        _ proof: Proof, fields: [(String, String)] = []
    ) throws -> CallgrindDump {
        switch proof {
        case .plain: return try answered { try client.exchange("GET", "/open/x", fields: fields) }
        case .assertion:
            let call = try device.call("strict", challenge: challenge("/assert/challenge"))
            return try answered { try call.exchange(on: client) }
        case .token:
            if token.isEmpty { token = try issueToken() }
            let own = [("X-App-Attest-Token", token)]
            return try answered {
                try client.exchange("GET", "/tokens/x", fields: own + fields)
            }
        }
    }

    /// What a plain request takes over HTTP/2, which the listener has to speak.
    func costOverHTTP2() throws -> CallgrindDump {
        let (client, stream) = try http2 ?? (HTTP2Client(port: counted.gateway.port), 1)
        http2 = (client, stream + 2)
        return try counted.cost {
            let answer = try client.exchange(stream, "GET", "/open/x")
            guard answer.status == 200 else { throw RawSocketError("\(answer.status)") }
        }
    }

    private func challenge(_ endpoint: String) throws -> String {
        var text = ""
        _ = try answered {
            let answer = try client.exchange("POST", endpoint)
            text = answer.bodyText
            return answer
        }
        return text
    }

    private func issueToken() throws -> String {
        let signed = try device.sign(
            method: "POST", path: "/assert/token", body: [],
            challenge: try challenge("/assert/challenge"))
        var issued = ""
        _ = try answered {
            let answer = try client.exchange(
                "POST", "/assert/token", fields: signed.headers.map { ($0.name, $0.value) })
            let body = try JSONSerialization.jsonObject(with: Data(answer.body))
            issued = (body as? [String: Any])?["token"] as? String ?? ""
            return answer
        }
        return issued
    }

    private func answered(_ send: () throws -> HTTPMessage) throws -> CallgrindDump {
        try counted.cost {
            let answer = try send()
            guard answer.status == 200 else {
                throw RawSocketError("\(answer.startLine) \(answer.bodyText)")
            }
        }
    }
}
