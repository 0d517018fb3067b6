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
        try target.run(bytes)
    } catch {
        say("FINDING: \(error)")
        // libFuzzer keeps the input of a process that aborts.
        abort()
    }
    return 0
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
