import EventLoop
import Glibc

/// The ends of the command.
enum LabExit {
    static func usage(_ message: String) -> Never { end(2, message) }

    static func failed(_ message: String) -> Never { end(1, "sallyport-lab: \(message)") }

    /// Success, with what was printed written out.
    static func ok() -> Never { exit(0) }

    private static func end(_ code: Int32, _ message: String) -> Never {
        _ = File.append(File.standardError, Array((message + "\n").utf8).span)
        exit(code)
    }
}

/// Why a command of the lab could not do what it was asked.
struct LabError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
