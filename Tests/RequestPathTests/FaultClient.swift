import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON

extension GatewayProcess {
    /// The most memory that the process ever had resident (`VmHWM` of `/proc/PID/status`).
    func peakByteCount() throws -> Int {
        let text = try String(
            contentsOfFile: "/proc/\(current.processID)/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let word = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        guard let kibibytes = word.flatMap({ Int($0) }) else {
            throw FaultSiteError("/proc/PID/status: \(text)")
        }
        return kibibytes * 1024
    }
}

extension HTTPMessage {
    /// The member `code` of a problem document.
    var code: String? {
        guard case .object(let members)? = try? JSONValue.parse(body.span),
            case .string(let code)? = members["code"]
        else { return nil }
        return code
    }

    /// Status and code, for comparisons that tell all when they fail.
    var verdict: String { "\(status)" + (code.map { " \($0)" } ?? "") }
}

extension JSONValue {
    static func parse(_ bytes: Span<UInt8>) throws -> JSONValue {
        try parse(bytes, byteCountMax: 1 << 20, depthMax: 8)
    }
}

extension [UInt8] {
    var sha256: [UInt8] { SHA256.hash(self).array }
}

/// Runs `body` on `count` threads of their own at once, and returns what they returned, in order.
func inParallel<Value: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) throws -> Value
) throws -> [Value] {
    let results = ParallelResults<Value>(count: count)
    for index in 0..<count {
        Thread.detachNewThread { results.set(index, Swift.Result { try body(index) }) }
    }
    return try results.wait().map { try $0.get() }
}

private final class ParallelResults<Value: Sendable>: @unchecked Sendable {
    private let changed = NSCondition()
    private var results: [Int: Swift.Result<Value, any Error>] = [:]
    private let count: Int

    init(count: Int) { self.count = count }

    func set(_ index: Int, _ result: Swift.Result<Value, any Error>) {
        changed.withLock {
            results[index] = result
            changed.broadcast()
        }
    }

    func wait() -> [Swift.Result<Value, any Error>] {
        changed.withLock {
            while results.count < count { changed.wait() }
            return (0..<count).compactMap { results[$0] }
        }
    }
}

/// Gives each index below a count to one thread.
final class WorkQueue: @unchecked Sendable {
    private let lock = NSLock()
    private var index = 0
    private let count: Int

    init(count: Int) { self.count = count }

    func next() -> Int? {
        lock.withLock {
            guard index < count else { return nil }
            defer { index += 1 }
            return index
        }
    }
}
