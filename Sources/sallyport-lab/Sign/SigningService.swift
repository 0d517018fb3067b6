import AppAttestTesting
import Bytes
import JSON

/// The answers of `sallyport-lab sign`.
struct SigningService {
    /// More than the bodies that are written by hand in a tool.
    private static let bodyByteCountMax = 192 * 1024
    private static let hosts: Set<String> = ["127.0.0.1", "localhost", "[::1]"]

    let desk: DeviceDesk

    /// The reason why a request gets no signature.
    private struct Refused: Error {
        let status: Int
        let text: String
    }

    func reply(to request: HTTPRequest) -> StandInReply {
        var writer = JSONWriter()
        writer.beginObject()
        var status = 200
        do {
            let fields = try headers(for: request)
            writer.beginObject("headers")
            for (name, value) in fields { writer.member(named: name, value: .string(value)) }
            writer.endObject()
        } catch let refused as Refused {
            status = refused.status
            writer.member("error", string: refused.text)
        } catch {
            // The device's file is in use, or the gateway gives no challenge.
            status = 503
            writer.member("error", string: "\(error)")
        }
        writer.endObject()
        let buffer = writer.finish()
        var reply = StandInReply(status: status, body: buffer.readable.array)
        reply.fields = [
            StandInReply.Field("Content-Type", "application/json"),
            StandInReply.Field("Cache-Control", "no-store"),
        ]
        return reply
    }

    private func headers(for request: HTTPRequest) throws -> [(name: String, value: String)] {
        try Self.check(request)
        let unsigned = try Self.described(request.body)
        return try desk.holding {
            let device = try desk.device()
            let client = try desk.client(at: try desk.gateway(device.memory), device.memory)
            let challenge = try client.assertionChallenge()
            return try desk.sign(unsigned, device, challenge: challenge).fields
        }
    }

    /// Refuses requests that a web page can have a browser send, also by a name of its own that it
    /// lets resolve to this machine (DNS rebinding).
    private static func check(_ request: HTTPRequest) throws {
        let hosts = request.fields.filter { $0.name.lowercased() == "host" }.map(\.value)
        guard hosts.count == 1, self.hosts.contains(name(ofHost: hosts[0])) else {
            throw Refused(status: 403, text: "Host must be 127.0.0.1, localhost or [::1]")
        }
        guard request["Origin"] == nil else {
            throw Refused(status: 403, text: "requests of web pages are not signed")
        }
        guard request.target == "/sign" else {
            throw Refused(status: 404, text: "the only endpoint is POST /sign")
        }
        guard request.method == "POST" else {
            throw Refused(status: 405, text: "use POST")
        }
        // A page can send other types without asking first.
        let type = (request["Content-Type"] ?? "").prefix { $0 != ";" }.lowercased()
        guard type == "application/json" else {
            throw Refused(status: 415, text: "Content-Type must be application/json")
        }
        guard request.body.count <= bodyByteCountMax else {
            throw Refused(
                status: 413, text: "more than \(bodyByteCountMax) bytes: use device sign")
        }
    }

    /// The host without its port.
    private static func name(ofHost host: String) -> String {
        let text = host.lowercased()
        guard let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") else { return text }
        return UInt16(text[text.index(after: colon)...]) == nil ? text : String(text[..<colon])
    }

    /// The request that the tool is going to send.
    private static func described(_ json: [UInt8]) throws -> HTTPRequest {
        guard
            let members = try? JSONValue.parse(json.span, byteCountMax: bodyByteCountMax),
            let method = members["method"]?.stringValue, !method.isEmpty,
            let url = members["url"]?.stringValue
        else { throw Refused(status: 400, text: "method and url must be strings of an object") }
        guard members["body"] == nil || members["body_base64"] == nil else {
            throw Refused(status: 400, text: "body or body_base64, not both")
        }
        return HTTPRequest(
            method: method, target: try target(of: url), body: try body(of: members))
    }

    private static func target(of url: String) throws -> String {
        do {
            return try LabURL(url).target
        } catch {
            throw Refused(status: 400, text: "url: \(error)")
        }
    }

    private static func body(of members: JSONValue) throws -> [UInt8] {
        if let value = members["body_base64"] {
            guard let text = value.stringValue, let bytes = Base64.decode(text) else {
                throw Refused(status: 400, text: "body_base64 is not base64")
            }
            return bytes
        }
        guard let value = members["body"] else { return [] }
        guard let text = value.stringValue else {
            throw Refused(status: 400, text: "body must be a string, as it is sent")
        }
        return Array(text.utf8)
    }
}
