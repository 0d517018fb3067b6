import Bytes
import EventLoop
import HTTP2
import Settings

/// Recognises HTTP/2 with prior knowledge (RFC 9113 section 3.3), whose first bytes are no HTTP/1.1
/// request.
extension HTTP1Connection {
    /// Checks the first bytes of the connection. True if they are HTTP/1.1, and HTTP/1.1 is
    /// allowed.
    func readPreface() -> Bool {
        let preface = HTTP2Session.clientPreface
        let count = min(input.count, preface.count)
        for index in 0..<count where input.readable[index] != preface[index] {
            if listener.protocols.contains(.http1) { return true }
            close()
            return false
        }
        if count == preface.count { becomeHTTP2() }
        return false
    }

    /// Continues as HTTP/2 with the bytes that have come, in the same place of the worker's table.
    private func becomeHTTP2() {
        guard let transport else { return }
        state = .closed
        deadline.clear()
        farewell = nil
        self.transport = nil
        let connection = HTTP2Connection(
            worker: worker, transport: transport, peer: peer, listener: listener)
        worker.replace(self, with: connection)
        var begun = ByteBuffer()
        swap(&begun, &input)
        connection.start(with: begun.readable)
    }
}

extension ByteBuffer {
    /// Drops an empty line that is all that has come behind a request (RFC 9112 section 2.2): it
    /// begins no other.
    mutating func dropEmptyLine() {
        guard count == 2, readable[0] == 0x0D, readable[1] == 0x0A else { return }
        release()
    }
}
