import Dispatch
import EventLoop
import Foundation
import GatewayTesting
import Settings
import Testing

import class EventLoop.Thread

@testable import Gateway

@Suite("Log lines")
struct LogWriterTests {
    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }
}

extension LogWriterTests {
    /// Ends a writer that has written everything.
    private func end(_ writer: LogWriter) {
        guard writer.close() else { return }
        #expect(writer.end(within: ChildProcess.patience) == 0)
    }

    /// The path of a named pipe, as a log may have it.
    private func namedPipe() -> String {
        let path = directory.path(of: "access.log")
        #expect(mkfifo(path, 0o600) == 0)
        return path
    }

    /// Lines of these numbers, each written with so many digits at least.
    private static func lines(_ numbers: Range<Int>, digitCount: Int = 0) -> [UInt8] {
        Array(
            numbers.map { number in
                let digits = String(number)
                let zeros = String(repeating: "0", count: max(0, digitCount - digits.utf8.count))
                return "{\"line\":\(zeros)\(digits)}\n"
            }.joined().utf8)
    }

    /// The numbers of the lines in `text`, each of which must be whole.
    private static func numbers(_ text: [UInt8]) -> [Int] {
        let lines = text.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
        #expect(text.isEmpty || text.last == UInt8(ascii: "\n"))
        let numbers = lines.compactMap { line in
            line.hasPrefix("{\"line\":") && line.hasSuffix("}")
                ? Int(line.dropFirst(8).dropLast()) : nil
        }
        #expect(numbers.count == lines.count, "torn lines")
        return numbers
    }

    private static func readAll(_ descriptor: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &block, block.count)
            guard count > 0 else { return bytes }
            bytes += block[..<count]
        }
    }

    @Test("a pipe that is full for a while gets all of them")
    func slowPipe() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (source, sink) = (ends[0], ends[1])
        _ = fcntl(sink, F_SETFL, O_NONBLOCK)
        let text = Locked<[UInt8]>([])
        let reader = try Thread.spawn(name: "reader") {
            let bytes = Self.readAll(source)
            text.withLock { $0 = bytes }
        }
        var end = LogEnd(descriptor: sink, patienceMilliseconds: 60_000)
        #expect(end.write(Self.lines(0..<100_000)) == 0)
        #expect(end.write(Self.lines(100_000..<100_001)) == 0)
        Socket.close(sink)
        reader.join()
        Socket.close(source)
        #expect(Self.numbers(text.withLock { $0 }) == Array(0..<100_001))
    }

    /// An inherited pipe is one whose writes wait.
    @Test(
        "an end that takes no more loses whole lines, counted, and never a part of one",
        arguments: [true, false])
    func stuckPipe(waits: Bool) throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (source, sink) = (ends[0], ends[1])
        _ = fcntl(source, F_SETFL, O_NONBLOCK)
        if !waits { _ = fcntl(sink, F_SETFL, O_NONBLOCK) }
        defer { for descriptor in ends { Socket.close(descriptor) } }
        var end = LogEnd(descriptor: sink, patienceMilliseconds: 0)
        var text: [UInt8] = []
        var lostCount = 0
        for round in 0..<20 {
            lostCount += end.write(Self.lines(round * 10_000..<(round + 1) * 10_000))
            // One more, behind the line that was begun.
            lostCount += end.write(Self.lines(1_000_000..<1_000_001), isLast: true)
            text += Self.readAll(source)
        }
        #expect(end.write(Self.lines(2_000_000..<2_000_001)) == 0)
        text += Self.readAll(source)
        let numbers = Self.numbers(text)
        #expect(numbers.last == 2_000_000)
        #expect(lostCount > 100_000)
        #expect(numbers.count + lostCount == 20 * 10_001 + 1)
    }

    @Test("those that wait for a slow end are bounded in bytes; what is beyond is counted")
    func queue() throws {
        let path = namedPipe()
        // A writer does not wait for a reader that is here already.
        let source = open(path, O_RDONLY | O_NONBLOCK)
        defer { Socket.close(source) }
        let writer = try #require(try LogWriter(.file(path: path)))
        let batchLineCount = 50
        let batch = Self.lines(0..<batchLineCount, digitCount: 16_000)
        for _ in 0..<60 { writer.post(batch.span) }
        let waiting = 60 - Int(writer.droppedLineCount) / batchLineCount
        #expect(waiting * batch.count <= LogWriter.queueByteCountMax + batch.count)
        let text = Locked<[UInt8]>([])
        _ = fcntl(source, F_SETFL, 0)
        let reader = try Thread.spawn(name: "reader") {
            let bytes = Self.readAll(source)
            text.withLock { $0 = bytes }
        }
        end(writer)
        reader.join()
        let lineCount = Self.numbers(text.withLock { $0 }).count
        #expect(lineCount + Int(writer.droppedLineCount) == 60 * batchLineCount)
    }

    @Test("a file that is moved away is left, however many lines wait for it")
    func movedWhileStuck() throws {
        let path = namedPipe()
        let source = open(path, O_RDONLY | O_NONBLOCK)
        defer { Socket.close(source) }
        let writer = try #require(try LogWriter(.file(path: path)))
        let line = Self.lines(0..<1, digitCount: 200)
        try repeatWhile(writer.droppedLineCount == 0) { writer.post(line.span) }
        unlink(path)
        let said = Locked<[IOError?]>([])
        writer.reopen { error in said.withLock { $0.append(error) } }
        _ = fcntl(source, F_SETFL, 0)
        let reader = try Thread.spawn(name: "reader") { _ = Self.readAll(source) }
        // It is not lost either that nothing more comes.
        end(writer)
        reader.join()
        #expect(said.withLock { $0 } == [nil])
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test("a named pipe that nobody reads yet is not waited for, and keeps what it has room for")
    func pipeWithoutReader() throws {
        let path = namedPipe()
        let writer = try #require(try LogWriter(.file(path: path)))
        writer.post(Self.lines(0..<3).span)
        let source = open(path, O_RDONLY)
        defer { Socket.close(source) }
        end(writer)
        #expect(Self.numbers(Self.readAll(source)) == [0, 1, 2])
    }

    @Test("a rotation does not wait for an end that takes nothing, whatever waits for it")
    func rotatedWhileStuck() throws {
        let path = namedPipe()
        let writer = try #require(try LogWriter(.file(path: path)))
        // Far more than the pipe has room for, in many batches.
        let batch = Self.lines(0..<100, digitCount: 200)
        for _ in 0..<1000 { writer.post(batch.span) }
        unlink(path)
        let isDone = DispatchSemaphore(value: 0)
        writer.reopen { _ in isDone.signal() }
        #expect(isDone.wait(timeout: .now() + .seconds(ChildProcess.patienceSeconds)) == .success)
        #expect(FileManager.default.fileExists(atPath: path))
        end(writer)
    }

    @Test("each write to a shared pipe is of whole lines")
    func wholeLines() throws {
        var ends: [Int32] = [0, 0]
        // One that keeps writes apart: a read gives what one write gave.
        #expect(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
        defer { for descriptor in ends { Socket.close(descriptor) } }
        let lines = Self.lines(0..<2000, digitCount: 40)
        var rest = lines[...]
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while !rest.isEmpty {
            guard case .bytes(let count) = File.appendAtOnce(ends[1], Array(rest).span) else {
                Issue.record("it was not written")
                return
            }
            #expect(count <= 4096 && read(ends[0], &block, block.count) == count)
            #expect(block[count - 1] == UInt8(ascii: "\n"))
            rest = rest.dropFirst(count)
        }
    }
}
