import Bytes
import JSON

/// Reads an object `{"method","target","host","client","headers":{},"body_sha256"}`.
public enum JSONQuestion {
    public static func read(
        _ text: Span<UInt8>, byteCountMax: Int
    ) throws(QuestionFault) -> AskedRequest {
        try request(try members(of: text, byteCountMax: byteCountMax))
    }

    private static func members(
        of text: Span<UInt8>, byteCountMax: Int
    ) throws(QuestionFault) -> [String: JSONValue] {
        let value: JSONValue
        do throws(JSONError) {
            // The levels are the object, its headers, and the values of one header.
            value = try JSONValue.parse(text, byteCountMax: byteCountMax, depthMax: 3)
        } catch {
            switch error {
            case .duplicateMember: throw QuestionFault("The question has a member twice.")
            case .tooDeep:
                throw QuestionFault("The question is nested deeper than any member of one.")
            default: throw QuestionFault("The question is not one JSON object.")
            }
        }
        guard let members = value.objectValue else {
            throw QuestionFault("The question is not one JSON object.")
        }
        guard names.isSuperset(of: members.keys) else {
            throw QuestionFault(
                "Members are method, target, host, client, headers and body_sha256, and no other.")
        }
        return members
    }

    private static let names: Set = [
        "method", "target", "host", "client", "headers", "body_sha256",
    ]

    private static func request(
        _ members: [String: JSONValue]
    ) throws(QuestionFault) -> AskedRequest {
        guard let method = members["method"]?.stringValue,
            let target = members["target"]?.stringValue, let host = members["host"]?.stringValue
        else {
            throw QuestionFault("method, target and host must be strings.")
        }
        var asked = AskedRequest(
            method: Array(method.utf8), target: Array(target.utf8), host: Array(host.utf8))
        asked.fields = try fields(members["headers"])
        if let client = members["client"] {
            guard let text = client.stringValue, let address = IPAddress.bytes(text) else {
                throw QuestionFault("client must be an IP address, without a port.")
            }
            asked.client = address
        }
        asked.body = try body(of: asked, members["body_sha256"])
        return asked
    }

    private static func fields(_ headers: JSONValue?) throws(QuestionFault) -> [AskedRequest.Field]
    {
        guard let headers else { return [] }
        guard let headers = headers.objectValue else {
            throw QuestionFault("headers must be an object of strings or arrays of strings.")
        }
        var fields: [AskedRequest.Field] = []
        var names: Set<[UInt8]> = []
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            let bytes = Array(name.utf8)
            guard names.insert(ASCII.lowercased(bytes.span)).inserted else {
                throw QuestionFault("headers has a name twice: give its values as one array.")
            }
            for value in value.arrayValue ?? [value] {
                guard let text = value.stringValue else {
                    throw QuestionFault(
                        "headers must be an object of strings or arrays of strings.")
                }
                fields.append(AskedRequest.Field(name: bytes, value: Array(text.utf8)))
            }
        }
        return fields
    }

    private static func body(
        of asked: AskedRequest, _ digest: JSONValue?
    ) throws(QuestionFault) -> AskedRequest.Body {
        guard let mayHaveBody = asked.mayHaveBody else {
            throw QuestionFault("Content-Length is no number, or there are several.")
        }
        guard let digest else { return mayHaveBody ? .hidden : .shown }
        guard let text = digest.stringValue, let bytes = Base64.decode(text),
            let value = Bytes32(bytes)
        else {
            throw QuestionFault("body_sha256 must be the base64 of 32 bytes.")
        }
        return .hashed(value)
    }
}
