import EventLoop
import Settings
import TLS

/// Making a connection ready for requests once the system has connected it.
extension UpstreamConnection {
    /// Goes on with the TLS handshake where the upstream wants one. What keeps it from that is told
    /// when an exchange comes.
    func connected() {
        guard let watch else { return }
        watch.disableWriting()
        guard pool.settings.tls != nil else { return open(Transport(watch: watch)) }
        guard let tls = server.tls else {
            connectFailure = "TLS: not configured"
            return
        }
        do throws(TLSError) {
            session = try tls.connect(watch.descriptor, now: pool.worker.loop.now)
        } catch {
            connectFailure = "TLS: \(error)"
            return
        }
        state = .handshaking
        proceed()
    }

    func proceed() {
        guard let watch, let session else { return }
        switch session.handshake() {
        case .wantRead:
            watch.disableWriting()
            watch.enableReading()
        case .wantWrite:
            watch.disableReading()
            watch.enableWriting()
        case .complete:
            watch.disableReading()
            watch.disableWriting()
            open(Transport(watch: watch, session: session))
        case .failed(let failure):
            watch.disableReading()
            watch.disableWriting()
            connectFailure = "TLS: \(failure)"
            if exchange != nil { failToConnect() }
        }
    }

    /// Has further connections resume the session, once, when the server's tickets must have come.
    func keepSession() {
        guard let session else { return }
        self.session = nil
        server.tls?.keep(session)
    }

    private func open(_ transport: Transport) {
        self.transport = transport
        transport.setHandler(self)
        state = .idle
        transport.enableReading()
        if exchange != nil { beginRequest() }
    }
}
