import Bytes
import CLibevent
import CLinux

/// Runs another program to its end, or becomes one.
public enum ChildProgram {
    /// The output of a program on both of its streams, and its exit code.
    public struct Ending: Sendable {
        /// The exit code as shells count it: 128 plus the signal's number if a signal ended the
        /// program.
        public let exitCode: Int32
        public let output: String
    }

    /// Runs a program to its end, and blocks meanwhile. `words`: its path, or a name to be looked
    /// up in `PATH`, and its arguments. After `limit` the program is killed.
    public static func run(_ words: [String], within limit: Duration) throws(IOError) -> Ending {
        let ends = try Descriptor.pipe(for: words[0])
        let output = Descriptor(owning: ends.read)
        var id = pid_t()
        let status = unsafe withWords(words) { words in
            unsafe sallyport_spawn(&id, words, ends.write)
        }
        Socket.close(ends.write)
        guard status == 0 else { throw IOError(words[0], errno: status) }
        return try wait(for: id, output.raw, until: MonotonicInstant.now() + limit, words[0])
    }

    private static func wait(
        for id: pid_t, _ output: Int32, until limit: MonotonicInstant, _ name: String
    ) throws(IOError) -> Ending {
        var text = ByteBuffer()
        var isOpen = true
        var status: Int32 = 0
        while try unsafe hasYetToEnd(id, &status, name) {
            if MonotonicInstant.now() >= limit {
                // Not reaped yet, so the number still belongs to the program.
                kill(id, SIGKILL)
                while unsafe waitpid(id, &status, 0) < 0, sallyport_errno() == EINTR {}
                throw IOError(name, .unresolved("did not end in time"))
            }
            var request = pollfd(fd: isOpen ? output : -1, events: Int16(POLLIN), revents: 0)
            if unsafe poll(&request, 1, pauseMilliseconds) > 0 {
                isOpen = try read(output, into: &text)
            }
        }
        while isOpen {
            var request = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&request, 1, 0) > 0 else { break }
            isOpen = try read(output, into: &text)
        }
        return Ending(
            exitCode: sallyport_exit_code(status),
            output: String(decoding: text.readable.array, as: UTF8.self))
    }

    private static func hasYetToEnd(
        _ id: pid_t, _ status: UnsafeMutablePointer<Int32>, _ name: String
    ) throws(IOError) -> Bool {
        let ended = unsafe waitpid(id, status, WNOHANG)
        if ended == id { return false }
        let code = sallyport_errno()
        // Without its status nothing is known of how it ended.
        guard ended == 0 || code == EINTR else { throw IOError(name, errno: code) }
        return true
    }

    /// Reads output. False at its end. Output beyond the bound stays in the pipe, and the program
    /// runs into its time limit.
    private static func read(_ output: Int32, into text: inout ByteBuffer) throws(IOError) -> Bool {
        guard text.count < outputByteCountMax else { return false }
        return try File.read(output, into: &text, atMost: 4096) > 0
    }

    /// Becomes another program in the same process, with `variables` (`NAME=VALUE`) added before
    /// those of this one's environment, which stays as it is. Returns only if that fails.
    public static func become(_ words: [String], adding variables: [String]) -> IOError {
        let code = unsafe withWords(words) { words in
            unsafe withWords(variables) { variables in unsafe sallyport_become(words, variables) }
        }
        return IOError(words[0], errno: code)
    }

    private static func withWords(
        _ words: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) -> Int32 {
        // One piece of memory for all, because a failed copy of a single word would end the list
        // early.
        var texts = words.flatMap { Array($0.utf8CString) }
        return unsafe texts.withUnsafeMutableBufferPointer { texts in
            var start = texts.baseAddress
            var list: [UnsafeMutablePointer<CChar>?] = unsafe []
            for word in words {
                unsafe list.append(start)
                unsafe start = start.map { unsafe $0 + word.utf8.count + 1 }
            }
            unsafe list.append(nil)
            return unsafe list.withUnsafeBufferPointer { list in
                guard let first = list.baseAddress else {
                    preconditionFailure("a list with its end is not empty")
                }
                return unsafe body(first)
            }
        }
    }

    private static let outputByteCountMax = 64 * 1024
    /// The interval at which a program is noticed that has ended without closing its output.
    private static let pauseMilliseconds: Int32 = 10
}
