import GatewayTesting
import JSON
import Testing

/// `sallyport-lab sign` in a process of its own.
struct SigningService {
    let port: UInt16
    private let process: ChildProcess

    init(_ desk: LabDesk, _ options: [String] = []) throws {
        process = try ChildProcess(
            BuiltProgram.lab,
            ["sign", "--state", desk.state, "--listen", "127.0.0.1:0"] + options)
        let line = try process.waitForLine(on: .standardOutput) { !$0.isEmpty }
        port = try #require(
            try JSONValue.parse(line)["port"]?.integerValue.flatMap { UInt16(exactly: $0) })
    }

    /// One request. `fields` come beside the Content-Type that the service asks for.
    func ask(
        _ json: String, _ method: String = "POST", target: String = "/sign",
        type: String = "application/json", host: String? = nil, fields: [(String, String)] = []
    ) throws -> HTTPMessage {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n"
        head += "Content-Type: \(type)\r\nContent-Length: \(json.utf8.count)\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        let client = try RawClient(port: port)
        try client.send("\(head)\r\n\(json)")
        return try client.receive()
    }

    /// The headers that an answer has.
    static func headers(_ answer: HTTPMessage) throws -> [(String, String)] {
        let headers = try JSONValue.parse(answer.bodyText)["headers"]?.objectValue ?? [:]
        return headers.compactMap { name, value in value.stringValue.map { (name, $0) } }
    }
}
