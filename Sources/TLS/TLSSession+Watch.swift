public import EventLoop

extension TLSSession {
    /// Takes one step of the handshake. `watch` waits for what the next step needs. Once the
    /// handshake is complete it waits for reading at most, as the next user of the session will.
    public func handshake(on watch: Watch) -> TLSHandshakeOutcome {
        let outcome = handshake()
        switch outcome {
        case .wantRead:
            watch.disableWriting()
            watch.enableReading()
        case .wantWrite:
            watch.disableReading()
            watch.enableWriting()
        case .complete: watch.disableWriting()
        case .failed: break
        }
        return outcome
    }
}
