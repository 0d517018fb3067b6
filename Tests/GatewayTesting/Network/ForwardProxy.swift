import Foundation

/// A real forward proxy of Debian's on a port of 127.0.0.1 that wants a login: tinyproxy for HTTP,
/// HAProxy in front of it for TLS, microsocks for SOCKS 5. Killed when released.
public final class ForwardProxy {
    /// By the scheme of its URL. With `socks5h` the proxy resolves names.
    public enum Kind: String, Sendable {
        case http
        case https
        case socks5h
    }

    public static let user = "gateway"
    public static let password = "correct-horse-7Qx"

    public let kind: Kind
    public let port: UInt16
    private let directory: ScratchDirectory
    private let command: [String]
    private let innerPort: UInt16
    private var process: ChildProcess
    /// The HAProxy that ends TLS in front of it, or carries `localhost` on behind it.
    private var helpers: [ChildProcess] = []

    public static let isInstalled = ["tinyproxy", "microsocks", "haproxy"].allSatisfy { name in
        (try? ChildProcess.run("sh", ["-c", "command -v \(name)"]))?.status == .exited(0)
    }

    /// `target` is the only port that tinyproxy connects to. `certificate` is shown by one of the
    /// kind `https`.
    public init(_ kind: Kind, to target: UInt16, certificate: TestCertificate? = nil) throws {
        self.kind = kind
        directory = try ScratchDirectory()
        innerPort = FreePort.find()
        port = kind == .https ? FreePort.find() : innerPort
        switch kind {
        case .http, .https:
            let path = try directory.write(
                """
                Port \(innerPort)
                Listen 127.0.0.1
                BasicAuth \(Self.user) \(Self.password)
                ConnectPort \(target)
                LogLevel Connect

                """, to: "tinyproxy.conf")
            command = ["tinyproxy", "-d", "-c", path]
        case .socks5h:
            command = [
                "microsocks", "-i", "127.0.0.1", "-p", "\(innerPort)", "-u", Self.user, "-P",
                Self.password,
            ]
        }
        process = try Self.start(command, port: innerPort)
        if let certificate {
            let both = try certificate.certificatePEM + certificate.keyPEM
            let pem = try directory.write(both, to: "proxy.pem")
            try help("127.0.0.1:\(port) ssl crt \(pem)", to: innerPort)
            try Self.wait(for: port, helpers[0])
        }
        // microsocks tries the first address of a name alone, which may be that of IPv6.
        if kind == .socks5h, FileManager.default.fileExists(atPath: "/proc/net/if_inet6") {
            try help("[::1]:\(target)", to: target)
        }
    }

    /// Starts an HAProxy that carries what comes to `place` on to a port of 127.0.0.1.
    private func help(_ place: String, to port: UInt16) throws {
        let path = try directory.write(
            """
            defaults
                mode tcp
                timeout connect 5s
                timeout client 60s
                timeout server 60s
            listen helper
                bind \(place)
                server target 127.0.0.1:\(port)

            """, to: "haproxy.cfg")
        helpers.append(try ChildProcess("haproxy", ["-db", "-f", path]))
    }

    private static func start(_ command: [String], port: UInt16) throws -> ChildProcess {
        let process = try ChildProcess(command[0], Array(command.dropFirst()))
        try wait(for: port, process)
        return process
    }

    /// None of the programs tells that it listens.
    private static func wait(for port: UInt16, _ process: ChildProcess) throws {
        let limit = ChildProcess.deadline
        while (try? RawClient(port: port)) == nil {
            guard Date() < limit, process.exitStatus == nil else {
                let words = process.text(on: .standardError)
                throw ChildProcessError(description: "port \(port) does not listen: \(words)")
            }
            _ = poll(nil, 0, 10)
        }
    }

    /// For the setting `apple.proxy`; by a name, so that a certificate of `localhost` fits.
    public func url(password: String? = ForwardProxy.password) -> String {
        let login = password.map { "\(Self.user):\($0)@" } ?? ""
        return "\(kind.rawValue)://\(login)localhost:\(port)"
    }

    /// The places that it was asked to connect to since it was started last, oldest first:
    /// `host:port`. microsocks tells only of those that it reached.
    public var targets: [String] {
        let lines = process.lines(on: .standardOutput) + process.lines(on: .standardError)
        return lines.compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            let sign = kind == .http || kind == .https ? "CONNECT" : "to"
            return words.lastIndex(of: sign).flatMap { index in
                index > 1 && index + 1 < words.count ? words[index + 1] : nil
            }
        }
    }

    /// kill -9 of what holds the connections; returns when they are gone.
    public func kill() throws {
        process.kill()
        try process.waitForExit()
    }

    /// Starts it again on the same port, after ``kill()``.
    public func start() throws { process = try Self.start(command, port: innerPort) }

    /// SIGSTOP: it takes connections and says nothing.
    public func stop() { process.stop() }

    /// SIGCONT.
    public func resume() { process.resume() }
}
