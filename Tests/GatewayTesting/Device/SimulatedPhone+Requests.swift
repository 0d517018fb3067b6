public import AndroidAttestationTesting
public import AppAttestTesting
import Attestation
import Bytes
public import Crypto
public import Foundation
import JSON

extension SimulatedPhone {
    /// A phone with the app of ``GatewayConfiguration/package``, which passes the default policy
    /// unless `configure` changes it. `key`: nil for a new one.
    public static func ofTests(
        key: P256PrivateKey? = nil, _ configure: (inout PhoneProfile) -> Void = { _ in }
    ) throws -> SimulatedPhone {
        var profile = PhoneProfile(
            package: GatewayConfiguration.package,
            signingDigest: GatewayConfiguration.signingDigest)
        configure(&profile)
        return try SimulatedPhone(profile, key: key)
    }

    /// The body of `POST /attest/verify`. `platform` is left out if nil.
    public func enrolmentBody(
        challenge: String, by google: SimulatedGoogle, fault: AndroidFault? = nil,
        platform: String? = "android", at date: Date = Date()
    ) throws -> [UInt8] {
        let chain = try attestation(
            challenge: Self.attestationChallenge(of: Array(challenge.utf8)), by: google,
            at: Int64(date.timeIntervalSince1970), fault: fault)
        return enrolmentBody(chain: chain, challenge: challenge, platform: platform)
    }

    public func enrolmentBody(
        chain: [[UInt8]], challenge: String, platform: String? = "android"
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        if let platform { writer.member("platform", string: platform) }
        writer.member("key_id", string: keyID.base64)
        writer.beginArray("chain")
        for certificate in chain { writer.element(string: Base64.encode(certificate)) }
        writer.endArray()
        writer.member("challenge", string: challenge)
        writer.endObject()
        return writer.finish().readable.array
    }

    /// Signs a request in the `header` shape, as an app on Android does.
    public func sign(
        method: String, path: String, body: [UInt8] = [], challenge: String?,
        fault: PhoneSignatureFault? = nil
    ) throws -> SignedRequest {
        let clientData = SignedRequest.clientData(
            method: method, path: path, body: body, challenge: challenge)
        return try signed(
            clientData,
            [.init(name: RequestHeaderNames().clientData, value: Base64.encode(clientData))], fault)
    }

    /// Signs a request in the `body` shape: the body is the client data.
    public func sign(body: [UInt8]) throws -> SignedRequest { try signed(body, [], nil) }

    private func signed(
        _ clientData: [UInt8], _ more: [SignedRequest.Header], _ fault: PhoneSignatureFault?
    ) throws -> SignedRequest {
        let signature =
            try fault.map { try sign(clientData: clientData, fault: $0) }
            ?? sign(clientData: clientData)
        let names = RequestHeaderNames()
        let headers = [
            SignedRequest.Header(name: names.assertion, value: Base64.encode(signature)),
            SignedRequest.Header(name: names.keyID, value: keyID.base64),
        ]
        return SignedRequest(
            headers: headers + more, clientData: clientData, assertion: signature)
    }
}
