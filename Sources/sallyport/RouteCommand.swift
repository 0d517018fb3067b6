import Bytes
import HTTP
import Policy
import Settings

/// `sallyport route`: which route a request takes, and why.
enum RouteCommand {
    static let usage = "usage: sallyport route -c FILE METHOD URL [-H 'Name: value']..."

    static func main(_ words: [String]) {
        let arguments = Arguments(
            words, options: ["-c", "--config", "-H", "--header"], flags: [], usage: usage)
        let path = ConfigurationFile.path(arguments, usage: usage)
        guard arguments.operands.count == 2 else { Exit.usage(usage) }
        let settings = ConfigurationFile.loadOrExit(path).settings
        let lines = (arguments.options["-H"] ?? []) + (arguments.options["--header"] ?? [])
        let request = AskedRequest(
            method: arguments.operands[0], url: arguments.operands[1], headerLines: lines)
        for listener in settings.listeners {
            Console.print("\(listener.bind):")
            RouteAnswer(request, listener, settings).print()
        }
    }
}

/// The request that is asked about.
struct AskedRequest {
    let method: String
    /// In origin-form.
    let target: String
    let bytes: [UInt8]
    let head: RequestHead

    /// Ends the process where no client could send it.
    init(method: String, url: String, headerLines: [String]) {
        self.method = method
        let (authority, target) = Self.split(url)
        self.target = target
        var lines = headerLines.map { $0.contains(":") ? $0 : $0 + ":" }
        let hasHost = lines.contains { $0.lowercased().hasPrefix("host:") }
        if let authority, !hasHost { lines.insert("Host: \(authority)", at: 0) }
        // Without any Host it is a request as HTTP/1.0 knows it.
        let version = authority == nil && !hasHost ? "HTTP/1.0" : "HTTP/1.1"
        let text = (["\(method) \(target) \(version)"] + lines + ["", ""]).joined(separator: "\r\n")
        let message = Array(text.utf8)
        var head = RequestHead()
        let limits = HeadLimits(
            headByteCountMax: 1024 * 1024, fieldCountMax: 1000, targetByteCountMax: 64 * 1024)
        switch head.parse(message.span, limits: limits) {
        case .complete: break
        case .refused(let refusal):
            Console.print("refused with \(refusal.status): \(refusal.reason.code)")
            Exit.with(.ok)
        case .incomplete: Exit.usage(RouteCommand.usage)
        }
        bytes = message
        self.head = head
    }

    /// Authority, path and query of an absolute URL; other targets as they are.
    private static func split(_ url: String) -> (authority: String?, target: String) {
        for scheme in ["http://", "https://"] where url.lowercased().hasPrefix(scheme) {
            let rest = url.dropFirst(scheme.count)
            let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
            let target = String(rest[end...])
            return (String(rest[..<end]), target.hasPrefix("/") ? target : "/" + target)
        }
        return (nil, url)
    }
}

/// What one listener does with it.
struct RouteAnswer {
    private let request: AskedRequest
    private let listener: ListenerSettings
    private let settings: Settings

    init(_ request: AskedRequest, _ listener: ListenerSettings, _ settings: Settings) {
        self.request = request
        self.listener = listener
        self.settings = settings
    }

    func print() {
        // About the gateway itself, not about a path (RFC 9110 section 9.3.7).
        if request.head.targetForm == .asterisk {
            Console.print("  answered by the gateway itself: OPTIONS *")
            return
        }
        var scratch: [UInt8] = []
        let target = Array(request.target.utf8)
        let path: [UInt8]
        switch TargetPath.normalize(target.span, allowing: listener.allow, into: &scratch) {
        case .asReceived(let pathCount): path = Array(target.prefix(pathCount))
        case .normalized: path = scratch
        case .refused(let fault):
            Console.print("  refused with 400: \(fault.code)")
            return
        }
        if let endpoint = ["attest/challenge", "attest/verify", "assert/challenge"]
            .first(where: { path == Array((settings.endpoints.base + $0).utf8) })
        {
            Console.print("  answered by the gateway itself: \(endpoint)")
            return
        }
        let match = match(target)
        switch match {
        case .route(let index): describe(settings.routes[index])
        case .none: Console.print("  no route: 404")
        case .refused(let fault): Console.print("  refused with 400: \(fault.code)")
        }
        explain(path, match)
    }

    private func match(_ target: [UInt8]) -> TargetMatch {
        let table = RouteTable(settings.routes)
        var scratch: [UInt8] = []
        let method = Array(request.method.utf8)
        let bytes = request.bytes.span
        let traits = table.traits(
            authority: bytes.extracting(request.head.host ?? .empty), fields: request.head.fields,
            bytes: bytes, trustsForwarding: trustsForwarding)
        return table.match(
            method: method.span, target: target.span, traits: traits, allowing: listener.allow,
            scratch: &scratch)
    }

    /// The peer may be any: one that is believed, where the listener believes some.
    private var trustsForwarding: Bool { !listener.trustedProxies.isEmpty }

    private func describe(_ route: Route) {
        Console.print("  route \(route.name)")
        if let upstream = route.upstream {
            Console.print("  upstream \(settings.upstreams[upstream].name)")
        }
        let attest = route.attest
        Console.print("  attest mode \(attest.mode.rawValue)")
        guard attest.mode != .off else { return }
        Console.print(
            "  client data \(attest.clientData.rawValue), challenge \(attest.challenge.rawValue),"
                + " replay \(attest.replay), rollout \(attest.rolloutPercent)%")
    }

    private func explain(_ path: [UInt8], _ match: TargetMatch) {
        let bytes = request.bytes.span
        let explanation = RouteExplanation(
            routes: settings.routes, method: request.method, path: path,
            authority: bytes.extracting(request.head.host ?? .empty), fields: request.head.fields,
            bytes: bytes, trustsForwarding: trustsForwarding)
        var lines: [String] = []
        for (route, verdict) in zip(settings.routes, explanation.verdicts)
        where verdict != .otherPath {
            lines.append("    \(route.name): \(words(verdict, route))")
        }
        guard !lines.isEmpty else {
            Console.print("  no route covers the path")
            return
        }
        Console.print("  routes that cover the path:")
        for line in lines { Console.print(line) }
        if let taken = explanation.verdicts.firstIndex(of: .taken), match != .route(taken) {
            Console.print("  another reading of the path decided: see listeners[].allow")
        }
    }

    private func words(_ verdict: RouteExplanation.Verdict, _ route: Route) -> String {
        switch verdict {
        case .taken: "taken"
        case .otherPath: "another path"
        case .otherHost: "takes other hosts"
        case .lessSpecificPath: "its path is less specific"
        case .lessSpecificHost: "its host is less specific"
        case .otherMethod: "takes other methods"
        case .methodNamedElsewhere: "another route names the method"
        case .header(let condition):
            switch condition.test {
            case .present: "needs header \(condition.name)"
            case .absent: "takes no header \(condition.name)"
            case .equals: "needs another value of header \(condition.name)"
            }
        case .lessSpecificHeaders: "asks for fewer headers"
        case .lessStrict: "demands less than another that the slash leads to"
        }
    }
}
