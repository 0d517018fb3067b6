import Policy
import TLS

/// The end of a client's sending side while its request waits for the answer. The client has left,
/// or has only closed that side. A reset leaves no doubt, and ends every request.
extension RequestIntake {
    /// True if the request ends when its client's sending side does (`on_client_close: cancel`). A
    /// tunnel goes on until both sides have ended, and an operator's request is completed.
    var endsWithClient: Bool {
        guard !forwarder.tunnel.isOpen, !client.listener.isAdmin else { return false }
        return state.match.handling?.onClientClose == .cancel
    }

    /// True if the kernel knows that the client has left. It tells this even while the gateway does
    /// not read, and unread bytes lie before the end.
    func isLeft(by transport: Transport) -> Bool {
        if transport.isGone { return true }
        // An incomplete head asks for nothing, and earlier answers may still wait to be written.
        return exchange.number != 0 && exchange.phase != .readHead && endsWithClient
            && transport.hasPeerEnded
    }
}
