import EventLoop

/// Words to the person at the terminal.
enum Console {
    static func print(_ text: String) { write(text + "\n", to: 1) }

    static func complain(_ text: String) { write(text + "\n", to: 2) }

    static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        var rest = bytes.span
        while !rest.isEmpty {
            guard case .bytes(let count) = File.append(descriptor, rest) else {
                // Nobody reads us any more (a closed pipe, a full disk): there is no one to tell.
                HostSystem.exit(ExitCode.failed.rawValue)
            }
            rest = rest.extracting(count...)
        }
    }
}

/// The exit codes that operators are promised.
enum ExitCode: Int32 {
    case ok = 0
    case failed = 1
    case usage = 2
    /// The change was made, and may be lost.
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
