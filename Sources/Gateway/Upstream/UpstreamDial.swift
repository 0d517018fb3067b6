import EventLoop
import Judgement
import Settings
import TLS

/// Makes a connection to a server ready for bytes: connects it, and does the TLS handshake if the
/// upstream wants TLS, all in the time for connecting.
final class UpstreamDial: ReadinessHandler, DeadlineHandler {
    enum Outcome {
        case connected(Transport)
        case failed(UpstreamFailure)
    }

    private let pool: UpstreamPool
    private let server: PooledServer
    private var watch: Watch?
    /// The session of the handshake in progress.
    private var session: TLSSession?
    private var deadline: Deadline?
    private var whenDone: ((Outcome) -> Void)?

    init(pool: UpstreamPool, server: PooledServer) {
        self.pool = pool
        self.server = server
    }

    /// `whenDone` is called once, perhaps before this returns.
    func begin(whenDone: @escaping (Outcome) -> Void) {
        self.whenDone = whenDone
        deadline = Deadline(wheel: pool.deadlines, handler: self)
        deadline?.set(afterNanoseconds: pool.timeouts.connect)
        let address = server.state.address
        switch Socket.connect(to: address) {
        case .connected(let descriptor):
            guard watch(descriptor) else { return }
            connected()
        case .inProgress(let descriptor):
            guard watch(descriptor) else { return }
            watch?.enableWriting()
        case .failed(let code) where Socket.isOwnShortage(errno: code, connectingTo: address):
            fail(.exhausted)
        case .failed(let code): fail(.connect(description: IOError.text(errno: code)))
        }
    }

    /// False if the descriptor is one of the reserve.
    private func watch(_ descriptor: Int32) -> Bool {
        if descriptor >= pool.descriptorMax {
            Socket.close(descriptor)
            fail(.exhausted)
            return false
        }
        watch = Watch(loop: pool.loop, descriptor: descriptor, handler: self)
        return true
    }

    /// The connection is not wanted any more.
    func cancel() {
        whenDone = nil
        deadline = nil
        session = nil
        guard let watch else { return }
        self.watch = nil
        watch.cancel()
        Socket.close(watch.descriptor)
    }

    private func fail(_ failure: UpstreamFailure) {
        let whenDone = whenDone
        cancel()
        whenDone?(.failed(failure))
    }

    private func succeed(_ transport: Transport) {
        let whenDone = whenDone
        watch = nil
        cancel()
        whenDone?(.connected(transport))
    }

    // MARK: TLS

    private func connected() {
        guard let watch else { return }
        watch.disableWriting()
        guard pool.settings.tls != nil else { return succeed(Transport(watch: watch)) }
        guard let tls = server.tls else {
            return fail(.connect(description: "TLS: not configured"))
        }
        do throws(TLSError) {
            session = try tls.connect(watch.descriptor, now: pool.loop.now)
        } catch {
            return fail(.connect(description: "TLS: \(error)"))
        }
        proceed()
    }

    private func proceed() {
        guard let watch, let session else { return }
        switch session.handshake(on: watch) {
        case .wantRead, .wantWrite: break
        case .complete:
            guard pool.settings.protocol == .http1 || session.applicationProtocol == "h2" else {
                return fail(.connect(description: "TLS: the server did not choose h2 by ALPN"))
            }
            succeed(Transport(watch: watch, session: session))
        case .failed(let failure): fail(.connect(description: "TLS: \(failure)"))
        }
    }

    // MARK: events

    func descriptorIsReadable() {
        withExtendedLifetime(self) { proceed() }
    }

    func descriptorIsWritable() {
        withExtendedLifetime(self) {
            guard session == nil, let watch else { return proceed() }
            let error = Socket.connectError(watch.descriptor)
            guard error == 0 else { return fail(.connect(description: IOError.text(errno: error))) }
            connected()
        }
    }

    func deadlineExpired() {
        withExtendedLifetime(self) { fail(.connectTimeout) }
    }
}
