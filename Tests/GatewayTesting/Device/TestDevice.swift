public import AndroidAttestationTesting
public import AppAttestTesting
public import Attestation
import Foundation

/// A simulated device of either platform, for tests that do the same with both.
public enum TestDevice {
    case apple(SimulatedDevice)
    case android(SimulatedPhone)

    public var keyID: KeyID {
        switch self {
        case .apple(let device): device.keyID
        case .android(let phone): phone.keyID
        }
    }

    /// The Apple device; nil for a phone, which has no counter.
    public var apple: SimulatedDevice? {
        if case .apple(let device) = self { device } else { nil }
    }

    /// Signs a request in the `header` shape; with another key if `isForged`.
    public func sign(
        method: String, path: String, body: [UInt8], challenge: String?, isForged: Bool = false
    ) throws -> SignedRequest {
        switch self {
        case .apple(let device):
            try device.sign(
                method: method, path: path, body: body, challenge: challenge,
                fault: isForged ? .otherKey : nil)
        case .android(let phone):
            try phone.sign(
                method: method, path: path, body: body, challenge: challenge,
                fault: isForged ? .otherKey : nil)
        }
    }

    /// A signed request to one of the routes of a ``FaultSite``.
    public func call(_ route: String, challenge: String? = nil) throws -> SignedCall {
        let target = "/\(route)/it"
        var members = [#""key":"\#(keyID.base64)""#]
        if let apple { members.append(#""counter":\#(apple.counter &+ 1)"#) }
        if let challenge { members.append(#""challenge":"\#(challenge)""#) }
        members.append(#""id":"\#(UUID())""#)
        let body = Array("{\(members.joined(separator: ","))}".utf8)
        let signed =
            route == "body"
            ? try sign(body: body)
            : try sign(method: "POST", path: target, body: body, challenge: challenge)
        return SignedCall(
            method: "POST", target: target, fields: signed.headers.map { ($0.name, $0.value) },
            body: body)
    }

    private func sign(body: [UInt8]) throws -> SignedRequest {
        switch self {
        case .apple(let device): try device.sign(body: body)
        case .android(let phone): try phone.sign(body: body)
        }
    }

    /// A signed request with a fresh challenge of `gateway`.
    public func call(_ route: String, at gateway: GatewayProcess) throws -> SignedCall {
        try call(route, challenge: try gateway.challenge())
    }
}
