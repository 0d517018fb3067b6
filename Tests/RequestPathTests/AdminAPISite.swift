import Foundation
import GatewayTesting
import JSON

/// A gateway with the admin API, and who asks it.
struct AdminAPISite {
    static let token = "0123456789abcdef0123456789abcdef"
    let site: FaultSite
    let gateway: GatewayProcess
    let port: UInt16

    /// `site`: what the gateway shares with others. `more`: further lines of `admin.api`.
    init(_ site: FaultSite? = nil, more: String = "") throws {
        let site = try site ?? FaultSite()
        self.site = site
        port = FreePort.find()
        let file = try site.directory.write("# for tests\nops:\(Self.token)\n", to: "tokens")
        chmod(file, 0o600)
        site.configuration.api = "bind: \"127.0.0.1:\(port)\", token_file: \(file)\(more)"
        gateway = try site.start()
    }

    func call(
        _ method: String, _ target: String, body: String = "",
        authorization: String? = "Bearer \(token)", on port: UInt16? = nil
    ) throws -> HTTPMessage {
        let fields = authorization.map { [("Authorization", $0)] } ?? []
        return try RawClient(port: port ?? self.port).exchange(
            method, target, fields: fields, body: Array(body.utf8))
    }

    func revoke(_ keyIDs: [String], action: String = "revoke") throws -> HTTPMessage {
        let list = keyIDs.map { "\"\($0)\"" }.joined(separator: ",")
        return try call("POST", "/keys/\(action)", body: "{\"key_ids\":[\(list)]}")
    }

    func json(_ target: String) throws -> JSONValue {
        let answer = try call("GET", target)
        guard answer.status == 200 else {
            throw FaultSiteError("\(target): \(answer.startLine) \(answer.bodyText)")
        }
        return try JSONValue.parse(answer.bodyText)
    }

    /// The audit log, the newest entry first.
    func audit(_ query: String = "") throws -> [JSONValue] {
        try json("/audit" + query)["entries"]?.arrayValue ?? []
    }

    func actions() throws -> [String] {
        try audit().compactMap { $0["action"]?.stringValue }
    }

    func command(
        _ words: [String], environment: [String: String] = [:], input: String = ""
    ) throws -> ChildProcess.Outcome {
        let count = ["keys", "quota", "rollout"].contains(words[0]) ? 2 : 1
        return try ChildProcess.run(
            BuiltProgram.sallyport,
            words.prefix(count) + ["-c", gateway.configurationPath] + words.dropFirst(count),
            environment: environment, standardInput: Array(input.utf8))
    }
}

extension HTTPMessage {
    var problemCode: String? {
        guard self["Content-Type"] == "application/problem+json" else { return nil }
        return try? JSONValue.parse(bodyText)["code"]?.stringValue
    }
}
