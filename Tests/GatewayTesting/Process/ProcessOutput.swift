import CSpawn
import Foundation

/// What a child process wrote and how it ended, filled by threads that outlive no pipe.
///
/// Shared by a ``ChildProcess`` and those threads, so that the process can be released (and killed)
/// while they still wait.
final class ProcessOutput: @unchecked Sendable {
    /// Guards every member; broadcast whenever one changes.
    private let changed = NSCondition()
    private var texts: [ChildProcess.Stream: StreamText] = [
        .standardOutput: StreamText(), .standardError: StreamText(),
    ]
    private var status: ChildProcess.ExitStatus?

    private struct StreamText {
        var bytes: [UInt8] = []
        var lines: [String] = []
        /// Where the first unfinished line begins in `bytes`.
        var lineStart = 0
        var isClosed = false
    }

    var exitStatus: ChildProcess.ExitStatus? { changed.withLock { status } }

    func bytes(on stream: ChildProcess.Stream) -> [UInt8] {
        changed.withLock { texts[stream]?.bytes ?? [] }
    }

    func lines(on stream: ChildProcess.Stream) -> [String] {
        changed.withLock { texts[stream]?.lines ?? [] }
    }

    /// Runs `body` while the process is certainly not reaped, so that its id cannot be another's.
    func ifNotReaped(_ body: () -> Void) {
        changed.withLock { if status == nil { body() } }
    }

    /// Reads a pipe until its end and keeps what comes.
    func collect(_ stream: ChildProcess.Stream, from descriptor: Int32) {
        Thread.detachNewThread { [self] in
            var chunk = [UInt8](repeating: 0, count: 64 * 1024)
            while true {
                let count = read(descriptor, &chunk, chunk.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                append(chunk[0..<count], to: stream)
            }
            close(descriptor)
            changed.withLock {
                texts[stream]?.isClosed = true
                changed.broadcast()
            }
        }
    }

    private func append(_ chunk: ArraySlice<UInt8>, to stream: ChildProcess.Stream) {
        changed.withLock {
            guard var text = texts.removeValue(forKey: stream) else { return }
            let searchStart = text.bytes.count
            text.bytes += chunk
            for index in searchStart..<text.bytes.count where text.bytes[index] == 0x0A {
                text.lines.append(
                    String(decoding: text.bytes[text.lineStart..<index], as: UTF8.self))
                text.lineStart = index + 1
            }
            texts[stream] = text
            changed.broadcast()
        }
    }

    /// Reaps the process when it ends.
    func awaitExit(of processID: pid_t) {
        Thread.detachNewThread { [self] in
            var info = siginfo_t()
            // First only look: the id stays the process's own until the lock is held.
            while waitid(P_PID, id_t(processID), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
            changed.withLock {
                var raw: Int32 = 0
                while waitpid(processID, &raw, 0) < 0, errno == EINTR {}
                let signal = raw & 0x7F
                status = signal == 0 ? .exited(raw >> 8 & 0xFF) : .signalled(signal)
                changed.broadcast()
            }
        }
    }

    /// The exit status once it is known and both pipes are read to their end; nil after `limit`.
    func waitForExit(until limit: Date) -> ChildProcess.ExitStatus? {
        changed.withLock {
            while true {
                if let status, texts.values.allSatisfy(\.isClosed) { return status }
                // A grandchild may hold the pipes open: then the status alone has to do.
                guard changed.wait(until: limit) else { return status }
            }
        }
    }

    /// The first line from `index` on that `matches`; nil after `limit` or the end of the stream.
    func waitForLine(
        on stream: ChildProcess.Stream, from index: Int, until limit: Date,
        matches: (String) -> Bool
    ) -> String? {
        changed.withLock {
            var index = index
            while true {
                guard let text = texts[stream] else { return nil }
                while index < text.lines.count {
                    if matches(text.lines[index]) { return text.lines[index] }
                    index += 1
                }
                guard !text.isClosed, changed.wait(until: limit) else { return nil }
            }
        }
    }
}
