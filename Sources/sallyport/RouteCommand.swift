import HTTP
import JSON
import Settings

/// `sallyport route`: shows which route a request takes, and why.
enum RouteCommand {
    static let usage = """
        usage: sallyport route [-c FILE] METHOD URL [-H 'Name: value']... [--json]

          -H 'Name: value'   a header of the request; may be repeated
          --json             print one JSON object for each listener

        Says what each listener would make of the request, whatever the URL's port. It does not
        judge TLS, addresses, limits and proofs.
        """

    static func main(_ words: [String]) {
        let arguments = Arguments(
            words, options: ["-c", "--config", "-H", "--header"], flags: ["--json"], usage: usage)
        let path = ConfigurationFile.path(arguments, usage: usage)
        guard arguments.operands.count == 2 else { Exit.usage(usage) }
        if let fault = fault(arguments.operands[0], arguments.operands[1]) {
            Exit.usage("\(fault)\n\n\(usage)")
        }
        let settings = ConfigurationFile.loadOrExit(path).settings
        let lines = (arguments.options["-H"] ?? []) + (arguments.options["--header"] ?? [])
        let request = AskedRequest(
            method: arguments.operands[0], url: arguments.operands[1], headerLines: lines,
            asJSON: arguments.wantsJSON)
        for listener in settings.listeners {
            RouteReport(request, listener, settings).print(asJSON: arguments.wantsJSON)
        }
    }

    /// The fault of the operands, rather than of the request that they describe.
    private static func fault(_ method: String, _ url: String) -> String? {
        let upper = method.uppercased()
        if method.contains("/") || knownMethods.contains(url.uppercased()) {
            return "write METHOD URL, such as GET https://api.example.com/path"
        }
        if method != upper, knownMethods.contains(upper) {
            return "methods are upper case: \(upper)"
        }
        return nil
    }

    private static let knownMethods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
    ]
}

/// The request in question.
struct AskedRequest {
    let method: String
    /// The target in origin-form.
    let target: String
    /// The port in the URL; nil if it names none.
    let port: UInt16?
    let bytes: [UInt8]
    let head: RequestHead

    /// Ends the process if no client could send the request.
    init(method: String, url: String, headerLines: [String], asJSON: Bool) {
        self.method = method
        let (authority, target) = Self.split(url)
        self.target = target
        port = authority.flatMap(Self.port)
        var lines = headerLines
        let hasHost = lines.contains { $0.lowercased().hasPrefix("host:") }
        if let authority, !hasHost { lines.insert("Host: \(authority)", at: 0) }
        // A request without any Host can only be one of HTTP/1.0.
        let version = authority == nil && !hasHost ? "HTTP/1.0" : "HTTP/1.1"
        let text = (["\(method) \(target) \(version)"] + lines + ["", ""]).joined(separator: "\r\n")
        let message = Array(text.utf8)
        var head = RequestHead()
        let limits = HeadLimits(
            headByteCountMax: 1024 * 1024, fieldCountMax: 1000, targetByteCountMax: 64 * 1024)
        switch head.parse(message.span, limits: limits) {
        case .complete: break
        case .refused(let refusal):
            if asJSON {
                MachineOutput.print { writer in
                    writer.member("result", string: "refused")
                    writer.member("status", int: Int64(refusal.status))
                    writer.member("code", string: "\(refusal.reason.code)")
                }
            } else {
                Console.print("refused with \(refusal.status): \(refusal.reason.code)")
            }
            Exit.with(.ok)
        case .incomplete: Exit.usage(RouteCommand.usage)
        }
        bytes = message
        self.head = head
    }

    /// The part after the last colon, unless that is part of an IPv6 address.
    private static func port(_ authority: String) -> UInt16? {
        guard let colon = authority.lastIndex(of: ":") else { return nil }
        return UInt16(authority[authority.index(after: colon)...])
    }

    /// The authority, path and query of an absolute URL; other targets unchanged.
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
