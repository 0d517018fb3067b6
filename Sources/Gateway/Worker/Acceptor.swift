import EventLoop

/// Accepts connections from one listening socket.
final class Acceptor: ReadinessHandler {
    let worker: Worker
    var context: ListenerContext
    private let descriptor: Int32
    private var watch: Watch?
    private var retry: Timer?
    private(set) var isPaused = false
    private(set) var isClosed = false
    /// The time until which it was last paused. Connections from before have waited because of a
    /// limit of the gateway.
    private var heldUntil = MonotonicInstant(nanoseconds: 0)

    init(worker: Worker, context: ListenerContext, descriptor: Int32) {
        self.worker = worker
        self.context = context
        self.descriptor = descriptor
    }

    func start() {
        watch = Watch(loop: worker.services.loop, descriptor: descriptor, handler: self)
        watch?.enableReading()
    }

    func descriptorIsReadable() {
        accept(atMost: Self.acceptCountMax)
    }

    func descriptorIsWritable() {}

    private func accept(atMost count: Int) {
        for _ in 0..<count {
            guard worker.mayAccept else { return pause() }
            switch Socket.accept(descriptor) {
            case .accepted(let client, let peer):
                worker.accepted(client, peer, context, heldUntil: heldUntil)
                if client >= descriptorMax, !isClosed { return awaitDescriptors() }
            case .wouldBlock: return
            case .outOfDescriptors: return awaitDescriptors()
            case .failed: return
            }
        }
    }

    /// The number that the descriptors of clients stay below. The rest is held back for the gateway
    /// itself; an admin listener may use all.
    private var descriptorMax: Int32 {
        context.isBounded ? worker.services.hub.descriptors.clientMax : .max
    }

    private func awaitDescriptors() {
        worker.services.log.repeatedEvent(
            "out_of_descriptors", "new connections wait: too many files are open")
        pause()
        retryLater()
    }

    private func retryLater() {
        let timer = Timer(loop: worker.services.loop) { [unowned self] in resume() }
        timer.schedule(after: Self.retryDelay)
        retry = timer
    }

    private func pause() {
        isPaused = true
        watch?.disableReading()
    }

    /// Accepts again, because there is room as far as the worker knows.
    func resume() {
        guard isPaused, !isClosed else { return }
        guard let next = Socket.nextDescriptor(), next < descriptorMax else {
            return retryLater()
        }
        isPaused = false
        heldUntil = worker.services.loop.now
        watch?.enableReading()
    }

    /// Accepts the connections that the kernel has accepted already, then stops listening. They
    /// would be reset otherwise, so they may use the reserve of descriptors.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        accept(atMost: Int.max)
        retry = nil
        watch?.cancel()
        watch = nil
        Socket.close(descriptor)
    }

    /// Accepts no more connections. The socket, from now on the caller's, still listens.
    func release() -> Int32 {
        isClosed = true
        watch?.cancel()
        watch = nil
        return descriptor
    }

    /// The most connections of one turn, so that a flood of connections does not starve the others.
    static let acceptCountMax = 64
    static let retryDelay = Duration.milliseconds(500)
}
