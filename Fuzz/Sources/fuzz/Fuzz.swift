import FuzzTargets
import Glibc

/// The target that the environment names in `FUZZ_TARGET`: libFuzzer has the arguments.
private let target: FuzzTarget = {
    let name = environment("FUZZ_TARGET") ?? ""
    guard let target = FuzzTarget.named(name) else { fail("FUZZ_TARGET: no \(name)") }
    return target
}()

@c(LLVMFuzzerInitialize)
public func initialize(
    _ count: UnsafeMutablePointer<Int32>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> Int32 {
    // Inputs that are made, not checked in.
    if let folder = environment("FUZZ_SEEDS") {
        for (index, seed) in target.seeds().enumerated() {
            write(seed, to: "\(folder)/made-\(index)")
        }
    }
    return 0
}

@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ byteCount: Int) -> Int32 {
    let bytes = Array(UnsafeBufferPointer(start: data, count: byteCount))
    do {
        var allocated = 0
        let spent = try nanoseconds {
            allocated = try Allocations.measure { try target.run(bytes) }
        }
        try requireCheap(bytes, allocated: allocated)
        try requireFast(bytes, spent: spent)
    } catch {
        say("FINDING: \(error)")
        // libFuzzer keeps the input of a process that aborts.
        abort()
    }
    return 0
}

/// Throws where an input asks for more memory than its length allows.
private func requireCheap(_ bytes: [UInt8], allocated: Int) throws {
    func require(_ allocated: Int) throws {
        try target.requireCheap(inputByteCount: bytes.count, allocatedByteCount: allocated)
    }
    do {
        try require(allocated)
    } catch {
        // What a library sets up at its first use is no input's cost.
        try require(Allocations.measure { try target.run(bytes) })
    }
}

/// Throws where an input takes longer than any may, sanitizer and all. Only a search asks: how busy
/// the machine is must not decide a test.
private func requireFast(_ bytes: [UInt8], spent: Int) throws {
    guard let limit = millisecondsMax, spent > limit * 1_000_000 else { return }
    // Who is slow by the machine's fault is not slow again and again.
    let again = try (0..<3).map { _ in try nanoseconds { try target.run(bytes) } }
    try target.requireFast(
        milliseconds: min(spent, again.min() ?? spent) / 1_000_000, allowed: limit)
}

private let millisecondsMax = environment("FUZZ_MILLISECONDS_MAX").flatMap { Int($0) }

/// Processor time that this thread spends in `body`.
private func nanoseconds(_ body: () throws -> Void) rethrows -> Int {
    func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
    let began = now()
    try body()
    return now() - began
}

private func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

private func write(_ bytes: [UInt8], to path: String) {
    guard let file = fopen(path, "w") else { fail("\(path): \(String(cString: strerror(errno)))") }
    let written = fwrite(bytes, 1, bytes.count, file)
    guard fclose(file) == 0, written == bytes.count else { fail("\(path): not written") }
}

private func say(_ message: String) {
    let line = Array((message + "\n").utf8)
    _ = Glibc.write(2, line, line.count)
}

private func fail(_ message: String) -> Never {
    say(message)
    exit(2)
}
