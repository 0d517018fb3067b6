import EventLoop

/// Prints to the person at the terminal.
enum Console {
    static func print(_ text: String) { write(text + "\n", to: 1) }

    static func complain(_ text: String) { write(text + "\n", to: 2) }

    static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        var rest = bytes.span
        while !rest.isEmpty {
            switch File.append(descriptor, rest) {
            case .bytes(let count): rest = rest.extracting(count...)
            case .wouldBlock: _ = File.awaitWritable(descriptor, milliseconds: -1)
            case .failed(let code): end(descriptor, errno: code)
            }
        }
    }

    /// A failed write is reported, unless the reader is gone.
    private static func end(_ descriptor: Int32, errno code: Int32) -> Never {
        if descriptor == File.standardOutput, code != File.noReader {
            complain("sallyport: \(IOError("standard output", errno: code))")
        }
        HostSystem.exit(ExitCode.failed.rawValue)
    }
}

/// The documented exit codes.
enum ExitCode: Int32 {
    case ok = 0
    case failed = 1
    case usage = 2
    /// The change was made, but may be lost.
    case unconfirmed = 3
    case configuration = 78
}

enum Exit {
    static func with(_ code: ExitCode) -> Never { HostSystem.exit(code.rawValue) }

    static func usage(_ text: String) -> Never {
        Console.complain(text)
        with(.usage)
    }

    static func failed(_ text: String) -> Never {
        Console.complain("sallyport: " + text)
        with(.failed)
    }
}
