import Attestation
import Bytes
import Crypto
import GatewayTesting
import JSON
import KeyStore
import Testing

@testable import Gateway

/// A device of ``MadeUpPlatform`` and its connection to a gateway under test.
struct MadeUpDevice {
    let key: P256PrivateKey
    let client: RawClient

    init(_ gateway: GatewayUnderTest) throws {
        key = try P256PrivateKey.generate()
        client = try gateway.client()
    }

    var keyID: KeyID { KeyID(of: key.publicKey) }

    func enrol(
        appID: String = MadeUpPlatform.appID, isForged: Bool = false
    ) throws -> HTTPMessage {
        let challenge = try client.exchange("GET", "/attest/challenge").bodyText
        let signed = Array((appID + (isForged ? "" : challenge)).utf8)
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("platform", string: MadeUpPlatform.platformName.text)
        writer.member("key_id", string: keyID.base64)
        writer.member("challenge", string: challenge)
        writer.member("point", string: Base64.encode(key.publicKey.x963))
        writer.member("app", string: Base64.encode(Array(appID.utf8)))
        writer.member("signature", string: Base64.encode(try key.sign(signed)))
        writer.endObject()
        return try client.exchange(
            "POST", "/attest/verify", body: writer.finish().readable.array)
    }

    func challenge() throws -> String {
        try client.exchange("GET", "/assert/challenge").bodyText
    }

    /// The fields of a request whose client data is in a header.
    func fields(
        _ method: String, _ path: String, body: [UInt8] = [], challenge: String?
    ) throws -> [(String, String)] {
        var writer = JSONWriter()
        writer.beginObject()
        if let challenge { writer.member("challenge", string: challenge) }
        writer.member("method", string: method)
        writer.member("path", string: path)
        writer.member("bodySHA256", string: Base64.encode(SHA256.hash(body).array))
        writer.endObject()
        let clientData = writer.finish().readable.array
        return [
            ("X-App-Attest-Key-Id", keyID.base64),
            ("X-App-Attest-Client-Data", Base64.encode(clientData)),
            ("X-App-Attest-Assertion", Base64.encode(try key.sign(clientData))),
        ]
    }

    func request(
        _ method: String, _ path: String, body: [UInt8] = []
    ) throws -> HTTPMessage {
        try client.exchange(
            method, path,
            fields: fields(method, path, body: body, challenge: challenge()), body: body)
    }
}
