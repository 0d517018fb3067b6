import HTTP
import Policy

func route(
    _ path: PathPattern, _ methods: [String] = [], _ mode: AttestMode = .off, rollout: Int = 100,
    hosts: [String] = [], headers: [HeaderCondition] = [], upstream: Int? = 0,
    allowsWeaker: Bool = false
) -> Route {
    var attest = RoutePolicy()
    attest.mode = mode
    attest.rolloutPercent = rollout
    var route = Route(
        name: "r", path: path, methods: methods, upstream: upstream, attest: attest,
        bodyByteCountMax: 1024)
    route.hosts = hosts.compactMap { try? HostPattern($0) }
    route.headers = headers
    route.allowsWeaker = allowsWeaker
    return route
}

extension HeaderCondition {
    static func equals(_ name: String, _ value: String) -> HeaderCondition {
        HeaderCondition(name: name, test: .equals(value))
    }

    static func present(_ name: String) -> HeaderCondition {
        HeaderCondition(name: name, test: .present)
    }

    static func absent(_ name: String) -> HeaderCondition {
        HeaderCondition(name: name, test: .absent)
    }
}

/// A request's head, for what the match reads of it.
struct Request {
    let method: String
    let path: String
    let bytes: [UInt8]
    let head: RequestHead

    init(_ method: String, _ path: String, host: String? = nil, lines: [String] = []) {
        self.method = method
        self.path = path
        var text = "\(method) \(path) HTTP/1.\(host == nil ? 0 : 1)\r\n"
        if let host { text += "Host: \(host)\r\n" }
        for line in lines { text += "\(line)\r\n" }
        let message = Array((text + "\r\n").utf8)
        var head = RequestHead()
        let limits = HeadLimits(
            headByteCountMax: 65_536, fieldCountMax: 100, targetByteCountMax: 8192)
        let outcome = head.parse(message.span, limits: limits)
        precondition(outcome == .complete)
        bytes = message
        self.head = head
    }
}

extension RouteTable {
    func find(_ request: Request, isTrusted: Bool = false) -> Int? {
        let method = Array(request.method.utf8)
        let path = Array(request.path.utf8)
        let bytes = request.bytes.span
        let traits = traits(
            authority: bytes.extracting(request.head.host ?? .empty), fields: request.head.fields,
            bytes: bytes, trustsForwarding: isTrusted)
        guard case .route(let index) = match(method: method.span, path: path.span, traits: traits)
        else { return nil }
        return index
    }
}
