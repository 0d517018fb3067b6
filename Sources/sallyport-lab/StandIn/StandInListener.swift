import EventLoop
import TLS

/// One port of a stand-in for a server: Apple's, a gateway, or an AI service.
final class StandInListener: ReadinessHandler {
    typealias Answer = (HTTPRequest) -> StandInAnswer

    let port: UInt16
    let answer: Answer
    let loop: EventLoop
    private let listener: Int32
    private let watch: Watch
    /// The TLS settings, or nil for plain HTTP.
    private let tls: TLSServerContext?
    private var connections: [ObjectIdentifier: StandInConnection] = [:]

    init(
        _ loop: EventLoop, port: UInt16, tls: TLSServerContext?, answer: @escaping Answer
    ) throws {
        guard let address = SocketAddress.numeric(host: "127.0.0.1", port: port) else {
            throw LabError("127.0.0.1:\(port) is no address")
        }
        listener = try Socket.listen(on: address)
        guard let bound = Socket.localAddress(listener)?.port else {
            throw LabError("\(address) has no port")
        }
        self.port = bound
        self.loop = loop
        self.tls = tls
        self.answer = answer
        watch = Watch(loop: loop, descriptor: listener)
        watch.handler = self
        watch.enableReading()
    }

    /// TLS with one certificate.
    static func tls(_ identity: TLSIdentity) throws -> TLSServerContext {
        try TLSServerContext(
            TLSServerConfiguration(certificates: [.init(identity: identity)]),
            ticketKeys: TLSTicketKeys(lifetime: .seconds(3600)))
    }

    deinit {
        watch.cancel()
        Socket.close(listener)
    }

    func descriptorIsReadable() {
        while case .accepted(let descriptor, _) = Socket.accept(listener) {
            do {
                let session = try tls.map { try TLSSession(server: $0, descriptor: descriptor) }
                let connection = StandInConnection(self, descriptor, session)
                connections[ObjectIdentifier(connection)] = connection
                connection.start()
            } catch {
                Socket.close(descriptor)
            }
        }
    }

    func descriptorIsWritable() {}

    func remove(_ connection: StandInConnection) {
        connections[ObjectIdentifier(connection)] = nil
    }
}
