public import Bytes
import Crypto
import Foundation

/// A configuration file for a gateway under test: small defaults, and room for anything else.
public struct GatewayConfiguration: Sendable {
    /// One entry of `routes`.
    public struct Route: Sendable {
        public var name: String
        public var path: String
        public var methods: [String] = []
        /// Empty for a route that answers itself.
        public var upstream = "api"
        /// The inside of `attest: { ... }`.
        public var attest: String
        /// Further lines of the entry, e.g. `body_max: 1MiB`.
        public var more: [String] = []

        public init(
            _ name: String, path: String, methods: [String] = [], upstream: String = "api",
            attest: String = "mode: off", more: [String] = []
        ) {
            self.name = name
            self.path = path
            self.methods = methods
            self.upstream = upstream
            self.attest = attest
            self.more = more
        }
    }

    /// The environment variable `GATEWAY_WORKERS`, or 1.
    private static let workersOfTests =
        ProcessInfo.processInfo.environment["GATEWAY_WORKERS"].flatMap { Int($0) } ?? 1

    public static let appID = "ABCDE12345.com.example.app"
    /// The app on Android, and the digest of the certificate that signs it.
    public static let package = "com.example.bank"
    public static let signingDigest = SHA256.hash(
        Array("the certificate that signs the app".utf8))

    /// Inside of each upstream's entry, by name.
    public var upstreams: [String: String] = [:]
    public var routes: [Route] = []
    public var apps = ["{ id: \(Self.appID), environments: [production, development] }"]
    public var counters = "embedded"
    /// `registry.db` in the gateway's directory where nil.
    public var registryPath: String?
    /// The inside of `registry: { ... }`, in place of a file.
    public var registry: String?
    /// ``TestApple``'s by default.
    public var extraRootPaths = [TestApple.rootPath]
    /// For `trust.android.extra_roots`.
    public var androidRootPaths: [String] = []
    /// A test that counts what each worker has of its own sets 1.
    public var workers = Self.workersOfTests
    /// Whole top-level entries, e.g. `timeouts: { request_head: 200ms }`.
    public var more: [String] = []
    /// Further lines of the listener, e.g. `trusted_proxies: [127.0.0.0/8]`.
    public var listenerMore: [String] = []
    /// Addresses of further listeners.
    public var binds: [String] = []
    /// Where `admin.probes` listens, if anywhere.
    public var probes: String?
    /// The inside of `admin.api: { ... }`, if there is one.
    public var api: String?

    /// Everything goes, unlooked at, to an upstream on `port`.
    public init(upstreamPort port: UInt16, routes: [Route] = [.init("all", path: "/*")]) {
        upstreams = ["api": "servers: [\"127.0.0.1:\(port)\"]"]
        self.routes = routes
    }

    /// Everything below `/api/` must be asserted; the rest goes unlooked at.
    public static func enforcing(
        upstreamPort port: UInt16, attest: String = "mode: enforce"
    ) -> GatewayConfiguration {
        GatewayConfiguration(
            upstreamPort: port,
            routes: [
                Route("api", path: "/api/*", attest: attest), Route("rest", path: "/*"),
            ])
    }

    /// A further listener, for ``binds``, where proxies at `from` ask about requests.
    public static func checkListener(
        _ dialect: String, port: UInt16, from: String = "127.0.0.1", more: [String] = []
    ) -> String {
        (["127.0.0.1:\(port)", "check: { dialect: \(dialect), from: [\(from)] }"] + more)
            .joined(separator: "\n    ")
    }

    /// Adds the app on Android, and lets both apps use each route that there is. `root` is the path
    /// of the root that its phones' chains end in.
    public mutating func admitPhones(root: String) {
        let digest = Hex.encode(Self.signingDigest.array)
        apps.append("{ android: \(Self.package), signing_digests: [\(digest)] }")
        androidRootPaths.append(root)
        for index in routes.indices where !routes[index].attest.contains("mode: off") {
            routes[index].attest += ", apps: any"
        }
    }

    /// Has the listener take HTTP/2 in clear text, too.
    public mutating func speakHTTP2() { listenerMore.append("protocols: [http/1.1, h2]") }

    /// The file's text for a gateway whose files lie in `directory`.
    public func text(port: UInt16, adminPort: UInt16, directory: String) -> String {
        var lines = ["workers: \(workers)", "listeners:", "  - bind: 127.0.0.1:\(port)"]
        lines += listenerMore.map { "    \($0)" }
        lines += binds.map { "  - bind: \($0)" }
        lines += ["apps:"] + apps.map { "  - \($0)" }
        lines += [
            "registry: { \(registry ?? "sqlite: \(registryPath ?? directory + "/registry.db")") }",
            "counters: \(counters)",
        ]
        let roots = [extraRootPaths, androidRootPaths].map { paths in
            paths.isEmpty ? nil : "extra_roots: [\(paths.joined(separator: ", "))]"
        }
        // There is no network, so the list of withdrawn certificates cannot be fetched.
        let android = roots[1].map { "android: { \($0), revocation: off }" }
        let trust = [roots[0], android].compactMap { $0 }
        if !trust.isEmpty { lines.append("trust: { \(trust.joined(separator: ", ")) }") }
        lines.append("upstreams:")
        lines += upstreams.sorted { $0.key < $1.key }.map { "  \($0.key): { \($0.value) }" }
        lines.append("routes:")
        for route in routes {
            lines += ["  - name: \(route.name)", "    path: \(route.path)"]
            if !route.methods.isEmpty {
                lines.append("    methods: [\(route.methods.joined(separator: ", "))]")
            }
            if !route.upstream.isEmpty { lines.append("    upstream: \(route.upstream)") }
            lines.append("    attest: { \(route.attest) }")
            lines += route.more.map { "    \($0)" }
        }
        let probes = probes.map { ", probes: { bind: \"\($0)\" }" } ?? ""
        let api = api.map { ", api: { \($0) }" } ?? ""
        lines.append("admin: { bind: 127.0.0.1:\(adminPort)\(probes)\(api) }")
        return Self.withoutBacklog((lines + more).joined(separator: "\n") + "\n")
    }

    /// A configuration file's text with `timeouts.backlog` off, if it is not.
    ///
    /// On a busy machine requests wait longer than a gateway allows. It would then refuse some of
    /// them, and end handshakes.
    public static func withoutBacklog(_ text: String) -> String {
        let start = "timeouts: {"
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard let index = lines.firstIndex(where: { $0.hasPrefix(start) }) else {
            return text + start + " backlog: off }\n"
        }
        guard !lines[index].contains("backlog: off") else { return text }
        lines[index] = start + " backlog: off," + lines[index].dropFirst(start.count)
        return lines.joined(separator: "\n")
    }
}
