import Bytes
import EventLoop
import Settings
import TLS

/// A client's TLS handshake. No part of HTTP is set up before it is complete.
final class ClientHandshake: ClientConnection, ReadinessHandler, DeadlineHandler {
    private let worker: Worker
    private let services: WorkerServices
    private(set) var listener: ListenerContext
    private let peer: SocketAddress
    private let session: TLSSession
    private let watch: Watch
    private var deadline: Deadline?
    /// True once the first bytes were read.
    private var isBegun = false
    var slot = 0
    var quotaPlace: QuotaPlace?
    var proxy: SocketAddress?

    init(
        worker: Worker, session: TLSSession, watch: Watch, peer: SocketAddress,
        listener: ListenerContext
    ) {
        self.worker = worker
        services = worker.services
        self.session = session
        self.peer = peer
        self.listener = listener
        self.watch = watch
    }

    func start() {
        watch.handler = self
        watch.enableReading()
        deadline = Deadline(wheel: services.deadlines, handler: self)
        deadline?.set(afterNanoseconds: services.site.timeouts.tlsHandshake)
    }

    func descriptorIsReadable() {
        guard isBegun || isWanted else { return lose() }
        isBegun = true
        proceed()
    }

    /// False if the client sends no more, or if its first bytes have waited too long
    /// (`timeouts.backlog`). The handshake would then be the most expensive part of the work for
    /// it, and without one no error can be sent. A client that has only closed its sending side
    /// loses nothing, because it cannot answer the server's part of the handshake.
    private var isWanted: Bool {
        services.backlog.enter(
            watch.descriptor, heldUntil: watch.heldUntil, isNew: true, of: services)
        defer { services.backlog.leave() }
        if services.backlog.isLate, Socket.hasPeerEnded(watch.descriptor) { return false }
        guard listener.audience == .apps, services.backlog.refuses(services)
        else { return true }
        services.meter.add(.connectionsRefused)
        return false
    }

    func descriptorIsWritable() { proceed() }

    private func proceed() {
        switch session.handshake(on: watch) {
        case .wantRead, .wantWrite: break
        case .complete: complete()
        case .failed(let failure):
            services.meter.handshakeFailed(failure.kind)
            if failure.isHTTP { answerHTTP() }
            lose()
        }
    }

    private func complete() {
        deadline = nil
        services.meter.handshakes.add(session.groupName ?? "none")
        if session.isResumed { services.meter.add(.resumptions) }
        handOver(Transport(watch: watch, session: session))
    }

    /// Hands over to the connection class of the application protocol that was agreed on.
    private func handOver(_ transport: Transport) {
        if session.applicationProtocol == HTTPProtocol.http2.rawValue {
            let connection = HTTP2Connection(
                worker: worker, transport: transport, peer: peer, listener: listener)
            worker.replace(self, with: connection)
            return connection.start()
        }
        // A client that names no protocol speaks HTTP/1.1.
        guard listener.protocols.contains(.http1) else { return lose() }
        let connection = HTTP1Connection(
            worker: worker, transport: transport, peer: peer, listener: listener)
        worker.replace(self, with: connection)
        connection.start()
    }

    /// Answers a plain HTTP request, so that a person who typed http:// sees why nothing works.
    private func answerHTTP() {
        let text = "This port speaks HTTPS only.\n"
        let answer =
            "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
            + "Content-Length: \(text.utf8.count)\r\n\r\n\(text)"
        let bytes = Array(answer.utf8)
        _ = Socket.write(watch.descriptor, bytes.span)
    }

    func deadlineExpired() {
        services.meter.handshakeTimedOut()
        lose()
    }

    func follow(_ change: ListenerChange) {
        listener = change.context
        // No request has come yet, and the connection that follows will use the new configuration,
        // unless the handshake asks for less than it should.
        if change.ending(saidBy: proxy) == .atOnce { lose() }
    }

    /// Does nothing: a handshake that has begun may be followed by a request, which is answered as
    /// the last.
    func drain() {}

    func lose() {
        deadline = nil
        watch.cancel()
        Socket.close(watch.descriptor)
        worker.remove(self)
    }
}
