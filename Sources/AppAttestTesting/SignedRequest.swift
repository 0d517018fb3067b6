public import Attestation
public import AttestationTesting
import Bytes
import Crypto
import JSON

/// The header names that a client uses.
public struct RequestHeaderNames: Hashable, Sendable {
    public var assertion = "X-App-Attest-Assertion"
    public var clientData = "X-App-Attest-Client-Data"
    public var keyID = "X-App-Attest-Key-Id"
    /// The header for the base64 of the body's SHA-256 in the `body` shape; nil for none.
    public var clientDataHash: String?

    public init() {}

    /// The header names of older samples, whose client data is the body.
    public static var older: RequestHeaderNames {
        var names = RequestHeaderNames()
        names.assertion = "X-App-Assertion"
        names.keyID = "X-Key-Id"
        names.clientDataHash = "X-Client-Data-Hash"
        return names
    }
}

/// The place where a client puts its key id.
public enum KeyIDPlace: String, Sendable, CaseIterable {
    case header
    case clientData
    /// The key id is not sent, because the challenge is bound to it.
    case nowhere
}

/// The headers and the body that a client sends to prove a request.
public struct SignedRequest: Hashable, Sendable {
    public struct Header: Hashable, Sendable {
        public let name: String
        public let value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    public let headers: [Header]
    public let clientData: [UInt8]
    public let assertion: [UInt8]

    public init(headers: [Header], clientData: [UInt8], assertion: [UInt8]) {
        self.headers = headers
        self.clientData = clientData
        self.assertion = assertion
    }

    /// The client data of the `header` shape. The members that are nil are left out.
    public static func clientData(
        method: String, path: String, query: String? = nil, body: [UInt8], challenge: String?,
        keyID: KeyID? = nil
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        if let challenge { writer.member("challenge", string: challenge) }
        writer.member("method", string: method)
        writer.member("path", string: path)
        if let query { writer.member("query", string: query) }
        writer.member("bodySHA256", string: Base64.encode(SHA256.hash(body).array))
        if let keyID { writer.member("keyId", string: keyID.base64) }
        writer.endObject()
        let buffer = writer.finish()
        return buffer.readable.array
    }
}

extension SimulatedDevice {
    /// Signs a request in the `header` shape, as an app would.
    ///
    /// - `path`: the path that the app signs, normally `url.path`: decoded, without the query.
    /// - `query`: signed as it is on the wire, if not nil.
    /// - `fault`: the fault of the assertion.
    public func sign(
        method: String, path: String, query: String? = nil, body: [UInt8] = [],
        challenge: String?, keyIDPlace: KeyIDPlace = .header,
        names: RequestHeaderNames = RequestHeaderNames(), fault: AssertionFault? = nil
    ) throws(SimulationError) -> SignedRequest {
        let clientData = SignedRequest.clientData(
            method: method, path: path, query: query, body: body, challenge: challenge,
            keyID: keyIDPlace == .clientData ? keyID : nil)
        let assertion = try assert(
            clientDataHash: SHA256.hash(clientData).array, fault: fault)
        var headers = [
            SignedRequest.Header(name: names.assertion, value: Base64.encode(assertion)),
            SignedRequest.Header(name: names.clientData, value: Base64.encode(clientData)),
        ]
        if keyIDPlace == .header {
            headers.append(SignedRequest.Header(name: names.keyID, value: keyID.base64))
        }
        return SignedRequest(headers: headers, clientData: clientData, assertion: assertion)
    }

    /// Signs a request in the `body` shape: the body, with its challenge, is the client data.
    public func sign(
        body: [UInt8], keyIDPlace: KeyIDPlace = .header,
        names: RequestHeaderNames = RequestHeaderNames(), fault: AssertionFault? = nil
    ) throws(SimulationError) -> SignedRequest {
        let digest = SHA256.hash(body).array
        let assertion = try assert(clientDataHash: digest, fault: fault)
        var headers = [
            SignedRequest.Header(name: names.assertion, value: Base64.encode(assertion))
        ]
        if let name = names.clientDataHash {
            headers.append(SignedRequest.Header(name: name, value: Base64.encode(digest)))
        }
        if keyIDPlace == .header {
            headers.append(SignedRequest.Header(name: names.keyID, value: keyID.base64))
        }
        return SignedRequest(headers: headers, clientData: body, assertion: assertion)
    }
}
