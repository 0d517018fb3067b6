import Bytes
import Foundation
import GatewayTesting
import TLS

/// An upstream that speaks TLS by the gateway's own fence: it reads a head, sends `answer` and ends
/// each connection as it is told.
final class TLSServerStub: Sendable {
    let port: UInt16
    private let listener: Int32

    init(_ certificate: TestCertificate, answer: String, saysClose: Bool) throws {
        let identity = try TLSIdentity(
            certificatePEM: certificate.certificatePEM, keyPEM: certificate.keyPEM)
        let context = try TLSServerContext(
            TLSServerConfiguration(certificates: [.init(identity: identity)]),
            ticketKeys: TLSTicketKeys(lifetime: .seconds(60)))
        port = FreePort.find()
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        listener = descriptor
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(4))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0, listen(descriptor, 16) == 0 else { throw TLSError("listen") }
        Thread.detachNewThread {
            while true {
                let accepted = accept(descriptor, nil, nil)
                guard accepted >= 0 else { return }
                Self.serve(accepted, context, answer, saysClose)
                close(accepted)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func serve(
        _ descriptor: Int32, _ context: TLSServerContext, _ answer: String, _ saysClose: Bool
    ) {
        guard let session = try? TLSSession(server: context, descriptor: descriptor),
            session.handshake() == .complete
        else { return }
        var request = ByteBuffer()
        while !String(decoding: request.readable.array, as: UTF8.self).contains("\r\n\r\n") {
            guard case .bytes = session.read(into: &request, atMost: 16 * 1024) else { return }
        }
        let bytes = Array(answer.utf8)
        _ = session.write(bytes.span)
        if saysClose { session.sendClose() }
    }
}
