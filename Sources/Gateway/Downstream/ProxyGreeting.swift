import Bytes
import EventLoop
import HTTP
import ProxyProtocol

/// A connection of a proxy that must first say for which client it comes. Reads the PROXY header
/// and not one byte more, so that the protocol after it (TLS, HTTP) finds the connection as if it
/// were new.
final class ProxyGreeting: ClientConnection, ReadinessHandler, DeadlineHandler {
    let worker: Worker
    private let services: WorkerServices
    let descriptor: Int32
    /// The address of the proxy.
    let peer: SocketAddress
    private(set) var listener: ListenerContext
    var slot = 0
    var quotaPlace: QuotaPlace?
    /// The proxy, once its greeting has been read.
    var proxy: SocketAddress?
    /// The value that the connection which follows takes over (``Watch/heldUntil``).
    var heldUntil = MonotonicInstant(nanoseconds: 0)
    private var watch: Watch?
    private var deadline: Deadline?
    /// The bytes of the header that have come.
    private var header = ByteBuffer()
    /// The connection that replaces this one.
    private var successor: (any ClientConnection)?

    init(worker: Worker, descriptor: Int32, peer: SocketAddress, listener: ListenerContext) {
        self.worker = worker
        services = worker.services
        self.descriptor = descriptor
        self.peer = peer
        self.listener = listener
    }

    func start() {
        let deadline = Deadline(wheel: services.deadlines, handler: self)
        deadline.set(afterNanoseconds: services.site.timeouts.requestHead)
        self.deadline = deadline
        watch = Watch(loop: services.loop, descriptor: descriptor, handler: self)
        watch?.enableReading()
    }

    func descriptorIsReadable() {
        var seen = ByteBuffer(capacity: ProxyHeader.byteCountMax)
        seen.append(header.readable)
        // One byte more than the longest header, so that there is always at least one to read.
        let room = ProxyHeader.byteCountMax + 1 - seen.count
        switch Socket.peek(descriptor, into: &seen, atMost: room) {
        case .bytes: break
        case .wouldBlock: return
        case .endOfFile, .failed: return fail(header.isEmpty ? nil : "incomplete")
        }
        switch ProxyHeader.parse(seen.readable) {
        case .incomplete(let ownByteCount): take(upTo: ownByteCount)
        case .complete(let header, let byteCount):
            take(upTo: byteCount)
            guard self.header.count == byteCount else { return }
            succeed(header)
        case .refused(let fault): fail(fault.rawValue)
        }
    }

    func descriptorIsWritable() {}

    /// Ends the wait. A proxy that opens a connection and says nothing is a health check, which is
    /// not logged.
    func deadlineExpired() { fail(header.isEmpty ? nil : "timeout") }

    /// Takes the header's bytes up to `byteCount` from the kernel, which has them.
    private func take(upTo byteCount: Int) {
        let wanted = byteCount - header.count
        guard wanted > 0 else { return }
        _ = Socket.read(descriptor, into: &header, atMost: wanted)
    }

    private func succeed(_ header: ProxyHeader) {
        end()
        proxy = peer
        var client = peer
        if case .address(let bytes, let port) = header.source {
            client = SocketAddress(ipBytes: bytes, port: port) ?? peer
        }
        successor = worker.serve(
            descriptor, client, listener, heldUntil: heldUntil, after: self)
    }

    private func fail(_ fault: String?) {
        if let fault {
            services.meter.add(.proxyHeadersRefused)
            services.log.repeatedEvent("proxy_header_refused", "\(peer.ipText): \(fault)")
        }
        lose()
    }

    func follow(_ change: ListenerChange) {
        listener = change.context
        if change.ending(saidBy: peer) == .atOnce { lose() }
    }

    /// Does nothing: a header that has begun may be followed by a request, which is answered as the
    /// last.
    func drain() {
        descriptorIsReadable()
        successor?.drain()
        if watch != nil, header.isEmpty { lose() }
    }

    func lose() {
        end()
        Socket.close(descriptor)
        worker.remove(self)
    }

    private func end() {
        watch?.cancel()
        watch = nil
        deadline?.clear()
        deadline = nil
    }
}
