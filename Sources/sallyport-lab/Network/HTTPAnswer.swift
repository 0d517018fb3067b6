import JSON

/// A response, with the parts that the lab's commands need.
struct HTTPAnswer {
    struct Field {
        let name: String
        let value: String
    }

    let status: Int
    let fields: [Field]
    let body: [UInt8]

    /// The value of the first field of that name, whatever its case.
    subscript(name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The `code` of a refusal (RFC 9457); nil for other answers.
    var code: String? {
        guard self["Content-Type"] == "application/problem+json" else { return nil }
        return member("code")
    }

    /// A text member of the body's JSON object; nil if there is none.
    func member(_ name: String) -> String? {
        try? JSONValue.parse(body.span, byteCountMax: 64 * 1024, depthMax: 8)[name]?.stringValue
    }

    /// The action that an app is advised to take although its request was served.
    var advice: String? { self["X-App-Attest-Action"] }

    /// The rest of the only quota of the request's route; nil if the answer tells none.
    var quotaLeft: Int? {
        self["RateLimit"]?.split(separator: ";").first { $0.hasPrefix("r=") }
            .flatMap { Int($0.dropFirst(2)) }
    }

    /// The gateway's challenge for the next request.
    var nextChallenge: String? { self["X-App-Attest-Challenge"] }
}

/// A request to send.
struct HTTPRequest {
    var method: String
    var target: String
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []

    /// The target without its query.
    var path: Substring { target.prefix { $0 != "?" } }

    /// The part of the target after the first `?`; nil if there is none.
    var query: String? {
        target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    }

    /// The value of the first field of that name, whatever its case.
    subscript(name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The request's bytes with `Host`, and with `Content-Length` if there is a body or the method
    /// usually has one.
    func bytes(host: String) -> [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        if !body.isEmpty || ["POST", "PUT", "PATCH"].contains(method) {
            head += "Content-Length: \(body.count)\r\n"
        }
        return Array((head + "\r\n").utf8) + body
    }
}
