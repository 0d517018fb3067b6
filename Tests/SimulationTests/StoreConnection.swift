import Bytes
import EventLoop

@testable import RedisKeyStore

/// A gateway's connection to a simulated Redis process, from the server's end. Commands are run and
/// replies sent when the simulation says so.
final class StoreConnection {
    let server: StoreProcess
    /// Of the process that it was made to: another one knows nothing of it.
    private let process: String
    private(set) var isOpen = true
    private let descriptor: Int32
    private var received: [UInt8] = []
    private var commands: [[String]] = []
    private var replies: [UInt8] = []
    /// A script whose first half has run, where scripts are split.
    private var begun: (StoreProcess.Call, StoreProcess.Finding)?

    init(_ descriptor: Int32, to server: StoreProcess) {
        self.descriptor = descriptor
        self.server = server
        process = server.process
    }

    deinit { close() }

    var isWaiting: Bool { isOpen && (!commands.isEmpty || begun != nil) }
    var hasReplies: Bool { isOpen && !replies.isEmpty }
    var isStale: Bool { server.process != process }

    func close() {
        guard isOpen else { return }
        isOpen = false
        Socket.close(descriptor)
    }

    /// Takes what the gateway has sent.
    func receive() {
        guard isOpen else { return }
        var chunk = ByteBuffer()
        reading: while true {
            switch Socket.read(descriptor, into: &chunk, atMost: 1 << 16) {
            case .bytes: continue
            case .wouldBlock: break reading
            case .endOfFile, .failed: return close()
            }
        }
        received += chunk.readable.array
        while let words = takeCommand() { commands.append(words) }
    }

    /// Runs the next command, or half of it. `onAccepted` hears of each counter that was accepted.
    func run(now: Int64, onAccepted: (StoreProcess.Call) -> Void) {
        if let (call, finding) = begun {
            begun = nil
            finish(call, finding, onAccepted)
            return
        }
        guard !commands.isEmpty else { return }
        let words = commands.removeFirst()
        switch words[0] {
        case "EVAL" where words[1] == IncarnationScript.source:
            let seen = (history: words[6], time: Int64(words[7]) ?? 0)
            if let look = server.look(fresh: words[4], seen: seen, now: now) {
                reply(
                    "*5\r\n$16\r\n\(look.incarnation)\r\n$40\r\n\(look.history)\r\n"
                        + ":\(look.time)\r\n:\(now)\r\n$0\r\n\r\n")
            } else {
                reply("-READONLY this server is not a master\r\n")
            }
        case "SCRIPT" where words[2] == CounterScript.source:
            reply("$40\r\n\(Self.digest)\r\n")
        case "EVALSHA" where words.contains("trial"): reply(":14\r\n")
        case "EVALSHA" where words[1] == Self.digest:
            let call = Self.call(words)
            guard let finding = server.check(call, now: now) else {
                reply("-READONLY You can't write against a read only replica.\r\n")
                return
            }
            if server.isSplittingScripts {
                begun = (call, finding)
            } else {
                finish(call, finding, onAccepted)
            }
        case "CLIENT": reply("+OK\r\n")
        default: reply("-ERR unknown command '\(words[0])'\r\n")
        }
    }

    private func finish(
        _ call: StoreProcess.Call, _ finding: StoreProcess.Finding,
        _ onAccepted: (StoreProcess.Call) -> Void
    ) {
        server.write(finding, of: call)
        if finding.code == StoreProcess.accepted { onAccepted(call) }
        reply(":\(finding.code)\r\n")
    }

    /// Sends the first `count` bytes of what is answered.
    func deliver(atMost count: Int = .max) {
        guard hasReplies else { return }
        let part = Array(replies.prefix(count))
        replies.removeFirst(part.count)
        if case .failed = Socket.write(descriptor, part.span) { close() }
    }

    // MARK: the protocol

    private static let digest = String(repeating: "d", count: 40)

    private static func call(_ words: [String]) -> StoreProcess.Call {
        StoreProcess.Call(
            revocation: words[3], device: words[4], spent: words[5], incarnation: words[9],
            counter: UInt32(words[10]) ?? 0, windowSize: Int(words[11]) ?? 1,
            floor: UInt32(words[12]) ?? 0, expiresAt: Int64(words[13]) ?? 0,
            graceMilliseconds: Int64(words[14]) ?? 0, notedTime: Int64(words[16]) ?? 0)
    }

    private func reply(_ text: String) { replies += Array(text.utf8) }

    /// One array of bulk strings off the front, nil where it is not whole yet.
    private func takeCommand() -> [String]? {
        var index = 0
        func line() -> Int? {
            guard let end = received[index...].firstIndex(of: 0x0D), end + 1 < received.count
            else { return nil }
            defer { index = end + 2 }
            return Int(String(decoding: received[index + 1..<end], as: UTF8.self))
        }
        guard let count = line() else { return nil }
        var words: [String] = []
        for _ in 0..<count {
            guard let byteCount = line(), index + byteCount + 2 <= received.count else {
                return nil
            }
            words.append(String(decoding: received[index..<index + byteCount], as: UTF8.self))
            index += byteCount + 2
        }
        received.removeFirst(index)
        return words
    }
}
