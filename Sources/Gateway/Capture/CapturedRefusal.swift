import Bytes
import EventLoop
import JSON

/// The proof of a request that was refused, or would have been: all that `sallyport explain
/// request` needs to take it apart.
struct CapturedRefusal: Sendable {
    enum Kind: String {
        case attestation
        case assertion
    }

    let kind: Kind
    let requestID: String
    let time: (seconds: Int64, nanoseconds: Int32)
    let reason: String
    let detail: String?
    var route: String?
    /// The request line, if it was compared with what was signed.
    var method: [UInt8]?
    var target: [UInt8]?

    // Header fields as they came.
    var assertion: [UInt8]?
    var clientData: [UInt8]?
    var keyID: [UInt8]?
    /// The digest of the body, which the assertion signs in the shape `body`.
    var bodySHA256: Bytes32?
    /// The key that the assertion was checked with, as an X9.63 point.
    var publicKey: [UInt8]?
    var appID: String?
    var environment: String?
    /// The installation of the key that the request claims.
    var installation: String?

    /// The body of `POST /attest/verify`: key id, attestation and challenge.
    var requestBody: [UInt8]?

    init(
        _ kind: Kind, requestID: String, time: (seconds: Int64, nanoseconds: Int32),
        reason: String, detail: String?
    ) {
        self.kind = kind
        self.requestID = requestID
        self.time = time
        self.reason = reason
        self.detail = detail
    }

    /// The name of the file, which holds the request's hash and the time.
    var fileName: String {
        CaptureFile.name(milliseconds: WallClock.milliseconds(of: time), requestID: requestID)
    }

    /// The refusal as one JSON object, with received bytes in base64.
    var json: [UInt8] {
        var text = ByteBuffer(capacity: 32)
        WallClock.appendTimestamp(seconds: time.seconds, nanoseconds: time.nanoseconds, to: &text)
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("time", bytes: text.readable)
        writer.member("request_id", string: requestID)
        writer.member("kind", string: kind.rawValue)
        writer.member("reason", string: reason)
        if let detail { writer.member("detail", string: detail) }
        if let route { writer.member("route", string: route) }
        if let appID { writer.member("app", string: appID) }
        if let environment { writer.member("environment", string: environment) }
        if let installation { writer.member("installation", string: installation) }
        for (name, bytes) in [
            ("method", method), ("target", target), ("assertion", assertion),
            ("client_data", clientData), ("key_id", keyID),
            ("body_sha256", bodySHA256?.array), ("public_key", publicKey),
            ("request_body", requestBody),
        ] {
            guard let bytes else { continue }
            writer.member(named: name, value: .string(Base64.encode(bytes)))
        }
        writer.endObject()
        writer.raw("\n")
        return writer.finish().readable.array
    }
}
