import Foundation

/// What a ``RecordingUpstream`` has seen, shared by its threads.
final class UpstreamRecord: @unchecked Sendable {
    struct State {
        var requests: [RecordingUpstream.Request] = []
        var closedConnections: Set<Int> = []
        fileprivate(set) var bytes: [[UInt8]] = []
        fileprivate var sockets: [Int: RawSocket] = [:]
        fileprivate var isStopped = false
    }

    /// Guards every member; broadcast whenever one changes.
    private let changed = NSCondition()
    private var state = State()
    private var script: RecordingUpstream.Script

    init(_ script: @escaping RecordingUpstream.Script) { self.script = script }

    var requests: [RecordingUpstream.Request] { changed.withLock { state.requests } }
    var connectionCount: Int { changed.withLock { state.bytes.count } }

    func bytes(onConnection index: Int) -> [UInt8] {
        changed.withLock { index < state.bytes.count ? state.bytes[index] : [] }
    }

    func use(_ script: @escaping RecordingUpstream.Script) {
        changed.withLock { self.script = script }
    }

    func wait(until isTrue: (State) -> Bool) throws {
        let limit = Date(timeIntervalSinceNow: TimeInterval(RawSocket.patienceSeconds))
        try changed.withLock {
            while !isTrue(state) {
                guard changed.wait(until: limit) else {
                    throw RawSocketError(
                        "the upstream saw \(state.requests.count) requests: "
                            + state.requests.map(\.message.startLine).joined(separator: ", "))
                }
            }
        }
    }

    func add(_ socket: RawSocket) -> Int {
        changed.withLock {
            let index = state.bytes.count
            state.bytes.append([])
            state.sockets[index] = socket
            if state.isStopped { socket.interrupt() }
            changed.broadcast()
            return index
        }
    }

    /// False where it was stopped before.
    func stop() -> Bool {
        changed.withLock {
            guard !state.isStopped else { return false }
            state.isStopped = true
            for socket in state.sockets.values { socket.interrupt() }
            return true
        }
    }

    /// Reads requests and answers them until the peer or the script ends the connection.
    func serve(_ socket: RawSocket, index: Int) {
        let reader = MessageReader(socket) { [self] bytes in
            changed.withLock {
                state.bytes[index] += bytes
                changed.broadcast()
            }
        }
        // A gateway that goes away in the middle is what many tests are about.
        try? serve(reader, index: index)
        changed.withLock {
            state.sockets[index] = nil
            state.closedConnections.insert(index)
            changed.broadcast()
        }
        socket.close()
    }

    private func serve(_ reader: MessageReader, index: Int) throws {
        while var message = try reader.readHead() {
            try reader.readBody(message.requestFraming(), into: &message)
            let request = RecordingUpstream.Request(connection: index, message: message)
            let script = changed.withLock {
                state.requests.append(request)
                changed.broadcast()
                return self.script
            }
            let answer = script(request)
            for step in answer.steps { try perform(step, on: reader.socket) }
            switch answer.ending {
            case .keepAlive: continue
            case .close: return
            case .reset: return reader.socket.reset()
            }
        }
    }

    private func perform(_ step: UpstreamAnswer.Step, on socket: RawSocket) throws {
        switch step {
        case .send(let bytes): try socket.send(bytes)
        case .wait(let gate): gate.wait()
        case .stream(let byteCount):
            let block = [UInt8](repeating: 0x2E, count: 256 * 1024)
            var rest = byteCount
            while rest > 0 {
                let count = min(rest, block.count)
                try socket.send(count == block.count ? block : Array(block[..<count]))
                rest -= count
            }
        }
    }
}
