import Bytes
import HTTP
import Policy
import Settings

/// `sallyport route`: which route a request takes, and why.
enum RouteCommand {
    static let usage = "usage: sallyport route -c FILE METHOD URL"

    static func main(_ words: [String]) {
        let arguments = Arguments(words, options: ["-c", "--config"], flags: [], usage: usage)
        let path = ConfigurationFile.path(arguments, usage: usage)
        guard arguments.operands.count == 2 else { Exit.usage(usage) }
        let settings = ConfigurationFile.loadOrExit(path).settings
        let method = arguments.operands[0]
        let target = originForm(of: arguments.operands[1])
        for listener in settings.listeners {
            explain(method, target, listener, settings)
        }
    }

    /// The path and query of an absolute URL; other targets as they are.
    private static func originForm(of url: String) -> String {
        for scheme in ["http://", "https://"] where url.lowercased().hasPrefix(scheme) {
            let rest = url.dropFirst(scheme.count)
            guard let slash = rest.firstIndex(of: "/") else { return "/" }
            return String(rest[slash...])
        }
        return url
    }

    private static func explain(
        _ method: String, _ target: String, _ listener: ListenerSettings, _ settings: Settings
    ) {
        let bytes = Array(target.utf8)
        Console.print("\(listener.bind):")
        if let endpoint = endpoint(method, bytes, listener, settings) {
            Console.print("  answered by the gateway itself: \(endpoint)")
            return
        }
        let method = Array(method.utf8)
        var scratch: [UInt8] = []
        let table = RouteTable(settings.routes)
        let match = table.match(
            method: method.span, target: bytes.span, allowing: listener.allow, scratch: &scratch)
        let index: Int
        switch match {
        case .route(let found): index = found
        case .none:
            Console.print("  no route: 404")
            return
        case .refused(let fault):
            Console.print("  refused with 400: \(fault.code)")
            return
        }
        let route = settings.routes[index]
        Console.print("  route \(route.name)")
        Console.print("  upstream \(settings.upstreams[route.upstream].name)")
        let attest = route.attest
        Console.print("  attest mode \(attest.mode.rawValue)")
        guard attest.mode != .off else { return }
        Console.print(
            "  client data \(attest.clientData.rawValue), challenge \(attest.challenge.rawValue),"
                + " replay \(attest.replay), rollout \(attest.rolloutPercent)%")
    }

    /// What the gateway answers before it looks at routes; nil for everything else.
    private static func endpoint(
        _ method: String, _ target: [UInt8], _ listener: ListenerSettings, _ settings: Settings
    ) -> String? {
        // About the gateway itself, not about a path (RFC 9110 section 9.3.7).
        if method == "OPTIONS", target == [UInt8(ascii: "*")] { return "OPTIONS *" }
        var path: [UInt8] = []
        switch TargetPath.normalize(target.span, allowing: listener.allow, into: &path) {
        case .asReceived(let pathCount): path = Array(target.prefix(pathCount))
        case .normalized: break
        case .refused: return nil
        }
        return ["attest/challenge", "attest/verify", "assert/challenge"]
            .first { path == Array((settings.endpoints.base + $0).utf8) }
    }
}
