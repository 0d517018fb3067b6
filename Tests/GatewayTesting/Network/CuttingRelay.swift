public import Foundation

/// A TCP relay on a port of 127.0.0.1 that breaks what it carries as a test says: the network
/// between a gateway and its store. Two threads for each connection; ended when released.
public final class CuttingRelay: Sendable {
    /// What becomes of the bytes. The first four last until another is set; the others happen to
    /// one connection, the next on which there is something to do, and then all is well again.
    public enum Weather: Hashable, Sendable {
        case clear
        /// Nothing arrives and nothing is lost: all of it comes when the weather clears.
        case silent
        /// Requests arrive, their answers only when the weather clears.
        case answersHeld
        /// Open connections end, new ones end at once.
        case refusing
        /// Each run of bytes waits for up to so many milliseconds.
        case slow(Int)
        /// Each request also goes to the target on a second connection, whose answers nobody reads.
        case doubled
        /// The request has arrived; the connection ends in place of the answer.
        case cutBeforeAnswer
        case cutInsideAnswer
        case cutInsideRequest
    }

    public let port: UInt16
    private let listener: Int32
    private let state: RelayState

    private static let triesMax = 20

    /// Carries to a port of 127.0.0.1.
    public init(to target: UInt16) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard listener >= 0 else { throw RawSocketError.system("socket") }
        var one: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(4))
        let descriptor = listener
        var (found, isBound) = (UInt16(0), false)
        // Another program that looks for a port may hold one for a moment.
        for _ in 0..<Self.triesMax where !isBound {
            found = FreePort.find()
            isBound = RawSocket.withLoopback(port: found) { bind(descriptor, $0, $1) } == 0
        }
        port = found
        guard isBound, listen(listener, 128) == 0 else {
            let error = RawSocketError.system("listen on port \(port)")
            close(listener)
            throw error
        }
        let state = RelayState(target: target)
        self.state = state
        Thread.detachNewThread {
            while true {
                let accepted = accept(descriptor, nil, nil)
                if accepted < 0, errno == EINTR || errno == ECONNABORTED { continue }
                guard accepted >= 0 else { break }
                _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
                state.carry(RelaySocket(adopting: accepted))
            }
            close(descriptor)
        }
    }

    deinit {
        state.set(.refusing)
        shutdown(listener, Int32(SHUT_RDWR))
    }

    public func set(_ weather: Weather) { state.set(weather) }

    /// Where connections go from now on; those that are open stay where they are.
    public func turn(to target: UInt16) { state.turn(to: target) }

    /// Ends the connections that are open.
    public func cut() { state.cut() }

    /// How often a one-time fault has happened.
    public var injectedCount: Int { state.injectedCount }

    /// Waits until a one-time fault has happened for the `count`th time; false where it has not.
    public func waitForInjection(_ count: Int, until limit: Date) -> Bool {
        state.waitForInjection(count, until: limit)
    }
}

/// A descriptor that its owner closes and anybody may interrupt.
private final class RelaySocket: @unchecked Sendable {
    private let lock = NSLock()
    private var descriptor: Int32

    init(adopting descriptor: Int32) {
        self.descriptor = descriptor
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(4))
    }

    convenience init?(port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        self.init(adopting: descriptor)
        guard RawSocket.withLoopback(port: port, { connect(descriptor, $0, $1) }) == 0 else {
            return nil
        }
    }

    deinit { close(descriptor) }

    func interrupt() { lock.withLock { _ = shutdown(descriptor, Int32(SHUT_RDWR)) } }

    /// Empty at the end.
    func receive() -> [UInt8] {
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            return Array(chunk[..<max(0, count)])
        }
    }

    /// False where the peer has gone.
    func send(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

private final class RelayState: @unchecked Sendable {
    private enum Direction { case request, answer }

    /// What to do with a run of bytes.
    private enum Deed { case pass, cut, half }

    /// One connection through the relay.
    private final class Link: Sendable {
        let client: RelaySocket
        let server: RelaySocket

        init(_ client: RelaySocket, _ server: RelaySocket) {
            self.client = client
            self.server = server
        }

        func end() {
            client.interrupt()
            server.interrupt()
        }
    }

    /// Guards every member; broadcast whenever one changes.
    private let changed = NSCondition()
    private var weather = CuttingRelay.Weather.clear
    private var target: UInt16
    private var links: [ObjectIdentifier: Link] = [:]
    private(set) var count = 0
    private var generator = SeededGenerator(1)

    init(target: UInt16) { self.target = target }

    var injectedCount: Int { changed.withLock { count } }

    func set(_ weather: CuttingRelay.Weather) {
        changed.withLock {
            self.weather = weather
            if weather == .refusing { for link in links.values { link.end() } }
            changed.broadcast()
        }
    }

    func turn(to target: UInt16) { changed.withLock { self.target = target } }

    func cut() { changed.withLock { for link in links.values { link.end() } } }

    func waitForInjection(_ goal: Int, until limit: Date) -> Bool {
        changed.withLock {
            while count < goal { guard changed.wait(until: limit) else { break } }
            return count >= goal
        }
    }

    func carry(_ client: RelaySocket) {
        let (weather, target) = changed.withLock { (self.weather, self.target) }
        guard weather != .refusing, let server = RelaySocket(port: target) else {
            return client.interrupt()
        }
        let link = Link(client, server)
        changed.withLock { links[ObjectIdentifier(link)] = link }
        for direction in [Direction.request, .answer] {
            Thread.detachNewThread { [self] in
                pump(link, direction, target)
                link.end()
                changed.withLock { links[ObjectIdentifier(link)] = nil }
            }
        }
    }

    private func pump(_ link: Link, _ direction: Direction, _ target: UInt16) {
        let source = direction == .request ? link.client : link.server
        let sink = direction == .request ? link.server : link.client
        var second: RelaySocket?
        defer { second?.interrupt() }
        while true {
            let bytes = source.receive()
            guard !bytes.isEmpty else { return }
            let deed = decide(direction)
            if direction == .request, isDoubling {
                second = second ?? Self.deaf(target)
                _ = second?.send(bytes[...])
            }
            switch deed {
            case .pass: guard sink.send(bytes[...]) else { return }
            case .half:
                _ = sink.send(bytes[..<(bytes.count / 2)])
                return
            case .cut: return
            }
        }
    }

    private var isDoubling: Bool { changed.withLock { weather == .doubled } }

    /// A connection on which somebody else's requests are carried out too.
    private static func deaf(_ target: UInt16) -> RelaySocket? {
        guard let socket = RelaySocket(port: target) else { return nil }
        Thread.detachNewThread { while !socket.receive().isEmpty {} }
        return socket
    }

    /// Waits as long as the weather says, and claims a one-time fault.
    private func decide(_ direction: Direction) -> Deed {
        changed.withLock {
            if case .slow(let milliseconds) = weather {
                let delay = Int.random(in: 0...milliseconds, using: &generator)
                let limit = Date(timeIntervalSinceNow: TimeInterval(delay) / 1000)
                while case .slow = weather, changed.wait(until: limit) {}
            }
            while weather == .silent || (weather == .answersHeld && direction == .answer) {
                changed.wait()
            }
            switch (weather, direction) {
            case (.refusing, _): return .cut
            case (.cutBeforeAnswer, .answer): return inject(.cut)
            case (.cutInsideAnswer, .answer), (.cutInsideRequest, .request): return inject(.half)
            default: return .pass
            }
        }
    }

    private func inject(_ deed: Deed) -> Deed {
        weather = .clear
        count += 1
        changed.broadcast()
        return deed
    }
}
