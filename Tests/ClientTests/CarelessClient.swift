import CryptoKit
import Foundation
import FoundationNetworking
import SallyportClient

/// A client as it is written in an afternoon: it tries everything again at once, five times, and
/// makes a new key when in doubt.
struct CarelessClient {
    let gateway: URL
    let service: SimulatedService
    private let transport = FreshTransport()
    private let key = Key()

    private final class Key: @unchecked Sendable {
        var id: String?
    }

    init(gateway: URL, service: SimulatedService) {
        self.gateway = gateway
        self.service = service
    }

    /// Whether the trial is over.
    func send(_ request: URLRequest) async throws -> Bool {
        for _ in 0..<5 {
            guard let signed = try? await signed(request) else { continue }
            for _ in 0..<2 {
                guard let (_, response) = try? await transport.send(signed, body(request)) else {
                    continue
                }
                if response.value(forHTTPHeaderField: "X-Trial") == "over" { return true }
                if response.statusCode == 200 { return false }
            }
            key.id = nil
        }
        return false
    }

    private func body(_ request: URLRequest) -> RequestBody {
        request.httpBody.map { .data($0) } ?? .none
    }

    private func signed(_ request: URLRequest) async throws -> URLRequest {
        if key.id == nil { key.id = try await enrolled() }
        guard let keyID = key.id else { throw URLError(.userAuthenticationRequired) }
        let challenge = try await get("assert/challenge")
        let digest = CarelessClient.hash(request.httpBody ?? Data()).base64EncodedString()
        let clientData = try JSONSerialization.data(withJSONObject: [
            "challenge": challenge, "method": "POST", "path": request.url?.path ?? "",
            "bodySHA256": digest,
        ])
        let assertion = try await service.generateAssertion(
            keyID, clientDataHash: CarelessClient.hash(clientData))
        var request = request
        for (name, value) in [
            ("X-App-Attest-Client-Data", clientData.base64EncodedString()),
            ("X-App-Attest-Assertion", assertion.base64EncodedString()),
            ("X-App-Attest-Key-Id", keyID),
        ] { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }

    private func enrolled() async throws -> String {
        let keyID = try await service.generateKey()
        let challenge = try await get("attest/challenge")
        let attestation = try await service.attestKey(
            keyID, clientDataHash: CarelessClient.hash(Data(challenge.utf8)))
        var request = URLRequest(url: gateway.appendingPathComponent("attest/verify"))
        request.httpMethod = "POST"
        let body = try JSONSerialization.data(withJSONObject: [
            "key_id": keyID, "challenge": challenge,
            "attestation": attestation.base64EncodedString(),
        ])
        let (_, response) = try await transport.send(request, .data(body))
        guard response.statusCode == 200 else { throw URLError(.badServerResponse) }
        return keyID
    }

    private func get(_ path: String) async throws -> String {
        let request = URLRequest(url: gateway.appendingPathComponent(path))
        return String(decoding: try await transport.send(request, .none).0, as: UTF8.self)
    }

    private static func hash(_ data: Data) -> Data { Data(SHA256.hash(data: data)) }
}
