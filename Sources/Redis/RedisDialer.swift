import EventLoop
import TLS

/// Makes one byte stream to a server: resolves its name, connects the socket, and starts TLS if
/// that is configured.
///
/// Dropping it ends the attempt. It has no clock: the caller bounds the time.
final class RedisDialer: ReadinessHandler {
    private let loop: EventLoop
    private let endpoint: RedisEndpoint
    private let tls: RedisTLS?
    /// The number that chooses one of several addresses of a name.
    private let turn: Int
    private let done: (Result<Transport, RedisFailure>) -> Void
    private var lookup: BlockingCall<Result<[SocketAddress], IOError>>?
    private var watch: Watch?
    private var session: TLSSession?
    private var isConnected = false
    /// The server that errors of the socket name.
    private(set) var subject = ""

    /// `done` is called once, after ``start()`` has returned or before; not at all if the owner
    /// drops this object first.
    init(
        loop: EventLoop, endpoint: RedisEndpoint, tls: RedisTLS?, turn: Int,
        done: @escaping (Result<Transport, RedisFailure>) -> Void
    ) {
        self.loop = loop
        self.endpoint = endpoint
        self.tls = tls
        self.turn = turn
        self.done = done
        subject = endpoint.description
    }

    deinit {
        guard let watch else { return }
        let descriptor = watch.descriptor
        watch.cancel()
        Socket.close(descriptor)
    }

    func start() {
        switch endpoint {
        case .unix(let path):
            connect(to: SocketAddress.unix(path).map { [$0] } ?? [])
        case .tcp(let host, let port):
            if let address = SocketAddress.numeric(host: host, port: port) {
                connect(to: [address])
            } else {
                lookUp(host: host, port: port)
            }
        }
    }

    private func lookUp(host: String, port: UInt16) {
        do throws(IOError) {
            lookup = try BlockingCall(name: "redis-lookup", loop: loop) {
                Result { () throws(IOError) in
                    try SocketAddress.resolve(host: host, port: port)
                }
            } handler: { [weak self] result in
                guard let self else { return }
                lookup = nil
                switch result {
                case .success(let addresses): connect(to: addresses)
                case .failure(let error): done(.failure(.unreachable(error)))
                }
            }
        } catch {
            done(.failure(.unreachable(error)))
        }
    }

    private func connect(to addresses: [SocketAddress]) {
        guard !addresses.isEmpty else {
            return done(.failure(.unreachable(IOError(subject, .addressNotAvailable))))
        }
        let address = addresses[turn % addresses.count]
        subject = address.description
        switch Socket.connect(to: address) {
        case .connected(let socket):
            adopt(socket)
            connected()
        case .inProgress(let socket):
            adopt(socket)
            watch?.enableWriting()
        case .failed(let errno): fail(errno)
        }
    }

    private func adopt(_ socket: Int32) {
        watch = Watch(loop: loop, descriptor: socket, handler: self)
    }

    private func fail(_ errno: Int32) {
        done(.failure(.unreachable(IOError(subject, errno: errno))))
    }

    private func connected() {
        guard let watch else { return }
        isConnected = true
        guard let tls else { return finish(Transport(watch: watch)) }
        let (name, isAddress) = peer(tls)
        do throws(TLSError) {
            session = try TLSSession(
                client: tls.context, serverName: name, isAddress: isAddress,
                descriptor: watch.descriptor)
        } catch {
            return done(.failure(.tls(subject, "\(error)")))
        }
        shakeHands()
    }

    /// The name to expect, and true if it is a numeric address.
    private func peer(_ tls: RedisTLS) -> (name: String, isAddress: Bool) {
        var name = tls.serverName ?? "localhost"
        if tls.serverName == nil, case .tcp(let host, _) = endpoint { name = host }
        return (name, SocketAddress.numeric(host: name, port: 0) != nil)
    }

    private func shakeHands() {
        guard let watch, let session else { return }
        switch session.handshake(on: watch) {
        case .wantRead, .wantWrite: break
        case .complete: finish(Transport(watch: watch, session: session))
        case .failed(let failure): done(.failure(.tls(subject, "\(failure)")))
        }
    }

    private func finish(_ transport: Transport) {
        watch?.disableReading()
        watch?.disableWriting()
        // From here on the descriptor belongs to the transport.
        watch = nil
        done(.success(transport))
    }

    // MARK: events

    func descriptorIsReadable() { withExtendedLifetime(self) { shakeHands() } }

    func descriptorIsWritable() {
        withExtendedLifetime(self) {
            guard !isConnected, let watch else { return shakeHands() }
            watch.disableWriting()
            let error = Socket.connectError(watch.descriptor)
            if error == 0 { connected() } else { fail(error) }
        }
    }
}
