import CryptoKit
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The bytes that an assertion covers.
enum ClientData {
    /// The members of the `header` shape.
    private struct Members: Encodable {
        var challenge: String
        var method: String
        var path: String
        var query: String
        var bodySHA256: String
    }

    /// The JSON that is signed and sent in the `header` shape.
    static func header(
        _ request: URLRequest, challenge: String, body: RequestBody
    ) throws -> Data {
        let target = try Target(request)
        return try JSONEncoder().encode(
            Members(
                challenge: challenge, method: request.httpMethod ?? "GET",
                path: target.path, query: target.query,
                bodySHA256: try body.digest().base64EncodedString()))
    }

    /// The body with the challenge as its first member, which is signed as it is. All other bytes
    /// stay as the app wrote them.
    static func body(_ body: RequestBody, challenge: String, member: String) throws -> Data {
        guard case .data(let data) = body, let start = data.firstIndex(of: UInt8(ascii: "{")),
            let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
        else {
            throw ClientError.invalidRequest("the signed body is not a JSON object")
        }
        guard object[member] == nil else {
            throw ClientError.invalidRequest("the body has a member \(member) already")
        }
        var first = try JSONEncoder().encode([member: challenge])
        // Without its closing brace, because the rest of the body has one.
        first.removeLast()
        if !object.isEmpty { first.append(UInt8(ascii: ",")) }
        return data[..<start] + first + data[data.index(after: start)...]
    }

    static func hash(_ data: Data) -> Data { Data(SHA256.hash(data: data)) }
}

/// Path and query in the form in which they are sent.
struct Target: Equatable {
    let path: String
    let query: String

    init(_ request: URLRequest) throws {
        guard let url = request.url,
            let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            ["http", "https"].contains(parts.scheme?.lowercased())
        else {
            throw ClientError.invalidRequest("no URL of HTTP")
        }
        path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        query = parts.percentEncodedQuery ?? ""
    }
}
