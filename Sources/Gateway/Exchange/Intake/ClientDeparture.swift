import Policy
import TLS

/// What becomes of a request whose client sends no more while it waits for the answer: a client
/// that has left, or one that has only closed its sending side. A reset leaves no doubt, and ends
/// every request.
extension RequestIntake {
    /// True if the request ends with its client's sending side (`on_client_close: cancel`). Tunnels
    /// go on until both sides have ended, and what operators asked for is done.
    var endsWithClient: Bool {
        guard !forwarder.tunnel.isOpen, !client.listener.isAdmin else { return false }
        return match.handling?.onClientClose == .cancel
    }

    /// Whether the client has left, as the kernel has it: also if nothing is read, and bytes lie
    /// before the end.
    func isLeft(by transport: Transport) -> Bool {
        if transport.isGone { return true }
        // A head that is not whole asks for nothing, and answers may wait before it.
        return exchange.number != 0 && exchange.phase != .readHead && endsWithClient
            && transport.hasPeerEnded
    }
}
