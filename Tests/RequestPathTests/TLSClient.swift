import Bytes
import Foundation
import GatewayTesting
import TLS

/// A client that speaks TLS by the gateway's own fence, and can stop at any byte.
final class TLSClient {
    let session: TLSSession
    private let descriptor: Int32
    private var isOpen = true

    /// Connects to a port of 127.0.0.1 and completes the handshake.
    init(
        port: UInt16, trusting authority: TestCertificate, name: String = "a.example"
    ) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let fd = descriptor
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        let configuration = TLSClientConfiguration(
            authorities: try TLSAuthorities(pem: authority.certificatePEM))
        session = try TLSSession(
            client: TLSClientContext(configuration), serverName: name, isAddress: false,
            descriptor: descriptor)
        guard status == 0 else { throw TLSError("connect: errno \(errno)") }
        let outcome = session.handshake()
        guard outcome == .complete else { throw TLSError("handshake: \(outcome)") }
    }

    deinit { cut() }

    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        var start = 0
        while start < bytes.count {
            guard case .bytes(let count) = session.write(bytes.span.extracting(start...)) else {
                throw TLSError("write")
            }
            start += count
        }
    }

    /// Reads until `text` has come.
    func receive(until text: String) throws -> String {
        var received = ByteBuffer()
        while true {
            let outcome = session.read(into: &received, atMost: 64 * 1024)
            let all = String(decoding: received.readable.array, as: UTF8.self)
            if all.contains(text) { return all }
            guard case .bytes = outcome else { throw TLSError("read: \(outcome) after \(all)") }
        }
    }

    /// Everything, and how it ended.
    func receiveToEnd() -> (text: String, ending: TLSReadOutcome) {
        var received = ByteBuffer()
        while true {
            let outcome = session.read(into: &received, atMost: 64 * 1024)
            guard case .bytes = outcome else {
                return (String(decoding: received.readable.array, as: UTF8.self), outcome)
            }
        }
    }

    /// Closes without `close_notify`.
    func cut() {
        if isOpen { close(descriptor) }
        isOpen = false
    }
}

/// A gateway whose listener speaks TLS, and the certificates around it.
struct TLSSite {
    let directory: ScratchDirectory
    let authority: TestCertificate
    let leaf: TestCertificate
    let upstream: RecordingUpstream

    init(_ script: @escaping RecordingUpstream.Script = { _ in .response() }) throws {
        // As the gateway does: a peer that is gone is an error of the write.
        signal(SIGPIPE, SIG_IGN)
        directory = try ScratchDirectory()
        authority = try TestCertificate.authority(in: directory)
        leaf = try TestCertificate(
            in: directory, "leaf", names: ["a.example"], issuer: authority)
        upstream = try RecordingUpstream(script)
    }

    func certificate(
        _ fileName: String, _ names: [String], kind: TestCertificate.Kind = .ecdsa
    ) throws -> TestCertificate {
        try TestCertificate(in: directory, fileName, names: names, kind: kind, issuer: authority)
    }

    static func entry(_ certificate: TestCertificate) -> String {
        "certificate: \(certificate.certificatePath), key: \(certificate.keyPath)"
    }

    /// The inside of `tls: { ... }`; the leaf's where nil.
    func configuration(
        tls: String? = nil, more: [String] = [], workers: Int = 1
    ) -> GatewayConfiguration {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.listenerMore = ["tls: { \(tls ?? Self.entry(leaf)) }"]
        configuration.more = more
        configuration.workers = workers
        return configuration
    }

    func gateway(
        tls: String? = nil, more: [String] = [], workers: Int = 1
    ) throws -> GatewayProcess {
        try GatewayProcess(configuration(tls: tls, more: more, workers: workers))
    }

    /// Whether this many handshakes have failed for `reason`. OpenSSL sends its alert before the
    /// gateway counts, so a client may know first.
    func hasFailures(_ gateway: GatewayProcess, _ reason: String, _ count: Double) throws -> Bool {
        let sample = "sallyport_tls_handshake_failures_total{reason=\"\(reason)\"}"
        let limit = ChildProcess.deadline
        while Date() < limit {
            if try gateway.metric(sample) == count { return true }
        }
        return false
    }

    /// What curl says of a request to `https://NAME/`.
    func curl(
        _ gateway: GatewayProcess, _ arguments: [String] = [], name: String = "a.example"
    ) throws -> ChildProcess.Outcome {
        try ChildProcess.run(
            "curl",
            ["-sS", "--cacert", authority.certificatePath, "--noproxy", "*", "--resolve"]
                + ["\(name):\(gateway.port):127.0.0.1", "-w", "%{http_code}"] + arguments
                + ["https://\(name):\(gateway.port)/"])
    }

    /// The whole output of `openssl s_client` around one request.
    func client(_ gateway: GatewayProcess, _ arguments: [String] = []) throws -> String {
        let outcome = try ChildProcess.run(
            "openssl",
            ["s_client", "-connect", "127.0.0.1:\(gateway.port)", "-servername", "a.example"]
                + ["-CAfile", authority.certificatePath, "-ign_eof"] + arguments,
            standardInput: Array(
                "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n".utf8))
        return outcome.standardOutput + outcome.standardError
    }
}
