import Bytes
import EventLoop
import HTTP
import Judgement
import TLS

/// The connection after `101 (Switching Protocols)`: it serves one client until either side ends.
extension UpstreamConnection {
    /// True if the connection goes on as a tunnel.
    func beginTunnel(_ request: any UpstreamRequest) -> Bool {
        guard request.asksForTunnel, isRequestSent, response.hasUpgrade, isWebSocketAgreed else {
            fail(.malformed(code: "unexpected_upgrade"))
            return false
        }
        isTunnel = true
        bodyReader.begin(.untilClose)
        state = .readingBody
        if !isForCheck { pool.serverAnswered(server, startedAt: request.sentAt) }
        request.upstreamSwitched(response, bytes: input.readable)
        input.consume(response.byteCount)
        return true
    }

    private var isWebSocketAgreed: Bool {
        var count = 0
        let fields = response.fields
        for field in fields where field.known == .upgrade {
            guard input.readable.extracting(field.value).isWebSocket else { return false }
            count += 1
        }
        return count == 1
    }

    /// The time for the next piece of the body.
    var bodyNanoseconds: UInt64 {
        request?.bodyNanoseconds(pool.timeouts, isTunnel: isTunnel) ?? pool.timeouts.read
    }

    /// Sends bytes of the client; returns the number that was taken. The rest may come again when
    /// the request is told that the upstream is ready.
    func sendThroughTunnel(_ bytes: Span<UInt8>) -> Int {
        guard let transport else { return bytes.count }
        var count = 0
        while count < bytes.count {
            switch transport.write(bytes.extracting(count...)) {
            case .bytes(let written): count += written
            case .wouldBlock:
                transport.enableWriting()
                return count
            case .failed:
                // Reading will show how the connection ended.
                return bytes.count
            }
        }
        if count > 0, !isPaused { setDeadline(bodyNanoseconds) }
        return count
    }

    /// The client sends no more.
    func endTunnelInput() {
        guard isTunnel, state == .readingBody, tunnelEnd != .client else { return }
        if tunnelEnd == .upstream, let request { return complete(request) }
        tunnelEnd = .client
        transport?.shutdownWrite()
    }

    /// The upstream sends no more. The client's bytes still go on until the client ends too, or
    /// nothing moves for too long.
    func endTunnelOutput(_ request: any UpstreamRequest) {
        tunnelEnd = .upstream
        transport?.watchChanges()
        setDeadline(bodyNanoseconds)
        request.upstreamEndedTunnel()
    }

    /// Something has changed after the upstream's end: the upstream may be gone for good.
    func checkTunnel() {
        if transport?.isGone == true { endTunnel(.tunnelBroken) }
    }

    /// Ends the tunnel in good order: bytes that the client has not taken yet are still written.
    func endTunnel(_ check: Cause.Check) {
        guard let request else { return close() }
        request.tunnelEnds(check)
        complete(request)
    }
}
