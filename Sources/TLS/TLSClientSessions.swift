import COpenSSL
import Crypto
public import EventLoop

/// Sessions with one server that further connections resume, which spares both sides the
/// signatures.
///
/// They belong to one context and one name, so that a session is resumed only under the rules by
/// which the server was checked. They do not live long, because a resumed handshake shows no
/// certificate: one that has expired or was revoked meanwhile would not be noticed. Belongs to one
/// thread.
public final class TLSClientSessions {
    @safe
    private final class Kept {
        let session: OpaquePointer
        let checkedAt: MonotonicInstant

        init(_ session: OpaquePointer, checkedAt: MonotonicInstant) {
            unsafe self.session = session
            self.checkedAt = checkedAt
        }

        deinit { unsafe SSL_SESSION_free(session) }
    }

    private let context: TLSClientContext
    private let serverName: String
    private let isAddress: Bool
    /// The sessions, the newest last.
    private var kept: [Kept] = []

    /// Makes a session, as ``TLSSession/init(client:serverName:isAddress:descriptor:)`` does.
    public init(_ context: TLSClientContext, serverName: String, isAddress: Bool) {
        self.context = context
        self.serverName = serverName
        self.isAddress = isAddress
    }

    /// Makes the client's side of a further connection, which resumes a session if there is one.
    public func connect(
        _ descriptor: Int32, now: MonotonicInstant
    ) throws(TLSError) -> TLSSession {
        let session = try TLSSession(
            client: context, serverName: serverName, isAddress: isAddress, descriptor: descriptor)
        session.checkedAt = now
        kept.removeAll { now - $0.checkedAt >= Self.lifetimeMax }
        guard let last = kept.popLast() else { return session }
        // A server that does not know the session any more does a full handshake.
        guard unsafe SSL_set_session(session.session, last.session) == 1 else {
            ErrorQueue.clear()
            return session
        }
        session.offeredAt = last.checkedAt
        // A ticket of TLS 1.3 is good for one connection: a ticket sent twice would show observers
        // that both are of one client (RFC 8446 section C.4).
        if unsafe SSL_SESSION_get_protocol_version(last.session) < TLS1_3_VERSION {
            unsafe keep(last.session, checkedAt: last.checkedAt)
        }
        return session
    }

    /// Keeps the state by which `session` can be resumed. To be called once the server has sent
    /// something, and so its tickets.
    public func keep(_ session: TLSSession) {
        guard context.configuration.resumesSessions, session.context === context,
            let now = session.checkedAt, let current = unsafe SSL_get_session(session.session)
        else { return }
        unsafe keep(current, checkedAt: session.isResumed ? session.offeredAt ?? now : now)
    }

    /// Keeps a copy, because a connection that ends without `close_notify` spoils its own.
    private func keep(_ session: OpaquePointer, checkedAt: MonotonicInstant) {
        guard unsafe SSL_SESSION_is_resumable(session) == 1,
            let copy = unsafe SSL_SESSION_dup(session)
        else { return }
        if kept.count >= Self.countMax { kept.removeFirst() }
        kept.append(unsafe Kept(copy, checkedAt: checkedAt))
    }

    /// The longest time from the last check of the server's certificate.
    static let lifetimeMax = Duration.seconds(3600)
    /// The most sessions, of about 3 KiB each: the number of connections that may begin at once.
    /// Connections come and go, and each leaves as many as it takes.
    static let countMax = 8
}
