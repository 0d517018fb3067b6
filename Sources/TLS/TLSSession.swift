public import Bytes
import COpenSSL
import Crypto
import EventLoop

/// The outcome of one step of a handshake.
public enum TLSHandshakeOutcome: Equatable, Sendable {
    case complete
    /// Continue when the descriptor can be read.
    case wantRead
    /// Continue when the descriptor can be written.
    case wantWrite
    case failed(TLSFailure)
}

public enum TLSReadOutcome: Equatable, Sendable {
    /// This many bytes were read: at least one.
    case bytes(Int)
    case wantRead
    /// The peer must take bytes first: the protocol's own answer to a key update.
    case wantWrite
    /// The peer sent `close_notify`: the data is complete.
    case endOfFile
    case failed(TLSFailure)
}

public enum TLSWriteOutcome: Equatable, Sendable {
    /// This many of the bytes were taken. The rest must be offered again, unchanged.
    case bytes(Int)
    case wantRead
    case wantWrite
    case failed(TLSFailure)
}

/// One TLS connection over a non-blocking descriptor, which the caller owns. Belongs to one thread.
@safe
public final class TLSSession {
    package let session: OpaquePointer
    /// Retained because callbacks of the handshake refer to it.
    let context: AnyObject
    /// The time of the last check of the peer's certificate, for ``TLSClientSessions``.
    var checkedAt: MonotonicInstant?
    /// The time of that check for the session that this one offered to resume.
    var offeredAt: MonotonicInstant?
    /// The rules by which names are compared, by OpenSSL and once more here. The subject's common
    /// name is none (RFC 9525 section 2).
    private static let nameFlags = UInt32(
        X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)
    /// The name that a server's certificate must have, if it is verified.
    private var expected: (name: String, isAddress: Bool)?
    private var isEstablished = false
    /// True after a call that failed: OpenSSL allows no further one.
    private var isBroken = false
    private var hasSentClose = false
    /// The failure of writing after the bytes that the call took.
    private var writeFailure: TLSFailure?
    /// The outcome that the last read met after the bytes that it returned.
    private var deferred: TLSReadOutcome?
    var lateMessages = LateMessages()
    /// True if the client sent more key updates than it may, so that the connection has failed.
    public var isFlooded: Bool { lateMessages.areTooMany }
    /// True if another read would return bytes without an event of the descriptor.
    public private(set) var hasBuffered = false

    /// Makes the server's side of a connection just accepted.
    public init(server: TLSServerContext, descriptor: Int32) throws(TLSError) {
        unsafe session = try Self.make(server.initial, descriptor)
        context = server
        unsafe SSL_set_accept_state(session)
    }

    /// Makes the client's side. `serverName` is asked for (SNI) if it is a name, and must be in the
    /// server's certificate if the context checks it; a numeric address must be there as an
    /// address.
    public init(
        client: TLSClientContext, serverName: String, isAddress: Bool, descriptor: Int32
    ) throws(TLSError) {
        unsafe session = try Self.make(client.context, descriptor)
        context = client
        unsafe SSL_set_connect_state(session)
        if isAddress {
            let parameters = unsafe SSL_get0_param(session)
            guard unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, serverName) == 1 else {
                throw TLSError(ErrorQueue.drain("server address \(serverName)"))
            }
        } else {
            unsafe SSL_set_hostflags(session, Self.nameFlags)
            guard unsafe sallyport_tls_set_server_name(session, serverName) == 1,
                unsafe SSL_set1_host(session, serverName) == 1
            else { throw TLSError(ErrorQueue.drain("server name \(serverName)")) }
        }
        if unsafe SSL_get_verify_mode(session) != SSL_VERIFY_NONE {
            expected = (serverName, isAddress)
        }
    }

    private static func make(
        _ context: OpaquePointer, _ descriptor: Int32
    ) throws(TLSError) -> OpaquePointer {
        ErrorQueue.clear()
        guard let session = unsafe SSL_new(context) else {
            throw TLSError(ErrorQueue.drain("TLS session"))
        }
        guard let socket = unsafe TLSSocket.method,
            unsafe sallyport_tls_set_socket(session, socket, descriptor) == 1
        else {
            unsafe SSL_free(session)
            throw TLSError(ErrorQueue.drain("TLS session"))
        }
        return unsafe session
    }

    deinit { unsafe SSL_free(session) }

    // MARK: the connection

    public func handshake() -> TLSHandshakeOutcome {
        let result = unsafe sallyport_tls_handshake(session)
        switch result.error {
        case SSL_ERROR_NONE:
            guard isServerAsExpected else {
                isBroken = true
                ErrorQueue.clear()
                return .failed(
                    TLSFailure(.certificate, "certificate verify failed: another name"))
            }
            isEstablished = true
            if context is TLSServerContext { boundLateMessages() }
            hasBuffered = unsafe SSL_has_pending(session) == 1
            return .complete
        case SSL_ERROR_WANT_READ: return .wantRead
        case SSL_ERROR_WANT_WRITE: return .wantWrite
        case SSL_ERROR_ZERO_RETURN:
            isBroken = true
            return .failed(.closedEarly)
        default: return .failed(fail(result))
        }
    }

    /// True if the server's certificate has the expected name. OpenSSL 3.0 has checked it during
    /// the handshake, but checked no name if it had no memory for its copy of it.
    private var isServerAsExpected: Bool {
        guard let expected else { return true }
        guard let certificate = unsafe SSL_get0_peer_certificate(session) else { return false }
        if expected.isAddress {
            return unsafe X509_check_ip_asc(certificate, expected.name, 0) == 1
        }
        return unsafe X509_check_host(certificate, expected.name, 0, Self.nameFlags, nil) == 1
    }

    /// Appends at most `byteCountMax` bytes to `buffer`, which makes that much room.
    public func read(into buffer: inout ByteBuffer, atMost byteCountMax: Int) -> TLSReadOutcome {
        if let outcome = deferred {
            hasBuffered = false
            return outcome
        }
        var byteCount = 0
        var outcome = TLSReadOutcome.wantRead
        hasBuffered = false
        // A record holds at most 16 KiB, so the rest of the bytes is already in memory.
        while byteCount < byteCountMax {
            let limit = byteCountMax - byteCount
            var result = sallyport_tls_result()
            let count = unsafe buffer.withUnsafeWritable(minimumCount: limit) { target in
                result = unsafe sallyport_tls_read(session, target.baseAddress, Int32(limit))
                return max(0, Int(result.count))
            }
            guard count > 0 else {
                outcome = self.outcome(ofRead: result)
                break
            }
            byteCount += count
            lateMessages.received(count)
            hasBuffered = unsafe SSL_has_pending(session) == 1
            if !hasBuffered { break }
        }
        guard byteCount > 0 else { return outcome }
        switch outcome {
        case .endOfFile, .failed, .wantWrite: hasBuffered = true
        case .wantRead, .bytes: break
        }
        return .bytes(byteCount)
    }

    private func outcome(ofRead result: sallyport_tls_result) -> TLSReadOutcome {
        hasBuffered = false
        switch result.error {
        case _ where isFlooded:
            isBroken = true
            deferred = .failed(Self.flooded)
        case SSL_ERROR_WANT_READ: return .wantRead
        case SSL_ERROR_WANT_WRITE: return .wantWrite
        case SSL_ERROR_ZERO_RETURN: deferred = .endOfFile
        default: deferred = .failed(fail(result))
        }
        return deferred ?? .wantRead
    }

    /// Sends the bytes that the kernel takes now. Records of one call leave together.
    public func write(_ bytes: Span<UInt8>) -> TLSWriteOutcome {
        assert(!bytes.isEmpty)
        if isBroken { return .failed(writeFailure ?? .closedEarly) }
        var byteCount = 0
        while byteCount < bytes.count {
            let result = writeRecord(bytes.extracting(byteCount...))
            guard result.error == SSL_ERROR_NONE else {
                let outcome = outcome(ofWrite: result)
                guard byteCount > 0 else { return outcome }
                // The next call meets the outcome: the kernel repeats its own, and a failure is
                // kept here.
                if case .failed(let failure) = outcome { writeFailure = failure }
                break
            }
            byteCount += Int(result.count)
        }
        return .bytes(byteCount)
    }

    private func writeRecord(_ bytes: Span<UInt8>) -> sallyport_tls_result {
        let count = min(bytes.count, Self.recordByteCount)
        return unsafe bytes.withUnsafeBufferPointer { source in
            unsafe sallyport_tls_write(
                session, source.baseAddress, Int32(count), bytes.count > count ? 1 : 0)
        }
    }

    private func outcome(ofWrite result: sallyport_tls_result) -> TLSWriteOutcome {
        switch result.error {
        case SSL_ERROR_WANT_READ: .wantRead
        case SSL_ERROR_WANT_WRITE: .wantWrite
        default: .failed(fail(result))
        }
    }

    /// The most bytes of a record (RFC 8446 section 5.1).
    public static let recordByteCount = 16 * 1024

    /// Tells the peer that no more bytes follow, without waiting for it to say the same.
    public func sendClose() {
        guard isEstablished, !isBroken, !hasSentClose else { return }
        hasSentClose = true
        ErrorQueue.clear()
        unsafe SSL_shutdown(session)
        ErrorQueue.clear()
    }

    private func fail(_ result: sallyport_tls_result) -> TLSFailure {
        isBroken = true
        return unsafe TLSFailure.read(result, of: session)
    }

    // MARK: the agreed parameters

    public var version: TLSVersion {
        unsafe SSL_version(session) == TLS1_2_VERSION ? .tls12 : .tls13
    }

    /// The cipher's name in OpenSSL's spelling.
    public var cipherName: String {
        unsafe String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher(session)))
    }

    /// The name of the group by which keys were agreed on, in TLS's spelling (`x25519`,
    /// `X25519MLKEM768`); nil if there was none, as with keys of TLS 1.2 by RSA alone.
    public var groupName: String? {
        unsafe sallyport_tls_group_name(session).map { unsafe String(cString: $0) }
    }

    /// The number of bytes that the socket has taken since the beginning, including the handshake
    /// and whole records.
    public var sealedByteCount: UInt64 { unsafe BIO_number_written(SSL_get_wbio(session)) }

    /// True if a ticket spared both sides the signatures.
    public var isResumed: Bool { unsafe SSL_session_reused(session) == 1 }

    /// The server name that the client asked for, in its own spelling.
    public var serverName: String? {
        guard let name = unsafe SSL_get_servername(session, TLSEXT_NAMETYPE_host_name) else {
            return nil
        }
        return unsafe String(cString: name)
    }

    /// The protocol that ALPN chose, or nil if there was no choice.
    public var applicationProtocol: String? {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(session, &bytes, &count)
        guard let bytes = unsafe bytes, count > 0 else { return nil }
        return unsafe String(
            decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
    }

    /// True if the client showed a certificate. One that was not accepted has ended the handshake.
    public var hasPeerCertificate: Bool { unsafe SSL_get0_peer_certificate(session) != nil }
}
