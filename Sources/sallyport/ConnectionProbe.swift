import EventLoop

/// Tries if a server accepts connections, without sending it a byte.
final class ConnectionProbe: ReadinessHandler {
    private let loop: EventLoop
    private let descriptor: Int32
    private var errorCode: Int32?

    private init(loop: EventLoop, descriptor: Int32) {
        self.loop = loop
        self.descriptor = descriptor
    }

    static func reach(_ address: SocketAddress, timeout: Duration) throws {
        switch Socket.connect(to: address) {
        case .connected(let descriptor): Socket.close(descriptor)
        case .failed(let code): throw IOError(address.description, errno: code)
        case .inProgress(let descriptor):
            defer { Socket.close(descriptor) }
            let loop = try EventLoop()
            let probe = ConnectionProbe(loop: loop, descriptor: descriptor)
            let watch = Watch(loop: loop, descriptor: descriptor, handler: probe)
            watch.enableWriting()
            let timer = Timer(loop: loop) { loop.stop() }
            timer.schedule(after: timeout)
            loop.run()
            watch.cancel()
            timer.cancel()
            guard let code = probe.errorCode else {
                throw IOError(address.description, .unresolved("no answer within \(timeout)"))
            }
            if code != 0 { throw IOError(address.description, errno: code) }
        }
    }

    func descriptorIsReadable() {}

    func descriptorIsWritable() {
        errorCode = Socket.connectError(descriptor)
        loop.stop()
    }
}
