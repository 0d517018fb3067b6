import EventLoop
import Glibc

/// The ways in which the command ends.
enum LabExit {
    static func usage(_ message: String) -> Never { end(2, message) }

    static func failed(_ message: String) -> Never { end(1, "sallyport-lab: \(message)") }

    /// Success, after everything printed was written.
    static func ok() -> Never { exit(0) }

    private static func end(_ code: Int32, _ message: String) -> Never {
        _ = File.append(File.standardError, Array((message + "\n").utf8).span)
        exit(code)
    }
}

/// The reason why a command of the lab failed.
struct LabError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
