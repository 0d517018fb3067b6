import Bytes
import EventLoop

/// The worker's side of one body's file. The file itself belongs to a thread, which does one job on
/// it at a time. Bytes of the body that come during a job wait in memory.
final class BodyFile: DeadlineHandler {
    let number: UInt64
    let queue: BodyFileDirectory.Queue
    private unowned let files: BodyFiles
    private let directory: BodyFileDirectory
    private let patience: UInt64
    private let deadline: Deadline
    private let shared = SharedFile()
    /// The bytes of the present job. The worker fills it, and the thread empties it.
    private let piece = Piece()
    weak var owner: (any HeldBodyOwner)?
    private var isBusy = false
    private var isLate = false
    private var isClosed = false
    private(set) var failure: IOError?
    private var content: TemporaryFile.Content?
    /// The end of the body that is not in the file.
    private var tail = ByteBuffer()
    /// The bytes that are in the file, or will be after the present job.
    private(set) var byteCount = 0
    /// True if the complete body has come.
    private var isEnding = false
    /// The range of the file that was in the system's memory at ``residentAt``.
    private var resident = 0..<0
    private var residentAt = MonotonicInstant(nanoseconds: 0)
    /// The range that the present job makes resident.
    private var awaited = 0..<0

    /// The fewest bytes that a job writes, except at the end of the body.
    static let writeByteCount = 64 * 1024
    /// The bytes that a job writes once 2 MiB have come. Each job wakes a thread, and its answer
    /// wakes the worker.
    private static let longWriteByteCount = 256 * 1024
    /// An end of the body that is no longer than this stays in memory.
    private static let keptTailByteCountMax = 16 * 1024
    /// The bytes that a job makes resident.
    static let residentByteCount = 1024 * 1024
    /// The time for which bytes count as resident: the system evicts first what was not used for
    /// longest.
    private static let residentNanoseconds: UInt64 = 1_000_000_000

    init(
        number: UInt64, files: BodyFiles, directory: BodyFileDirectory,
        queue: BodyFileDirectory.Queue, patience: UInt64
    ) {
        self.number = number
        self.files = files
        self.directory = directory
        self.queue = queue
        self.patience = patience
        deadline = Deadline(wheel: files.deadlines)
        deadline.handler = self
    }

    static func timeout(_ path: String) -> IOError {
        IOError(path, .unanswered("timeouts.body_file"))
    }

    // MARK: writing

    /// True if the client has to wait, because too many bytes wait to be written.
    var isBehind: Bool { isBusy && isTailLong }

    /// True if more than an eighth of the written bytes wait, so that a client holds no more memory
    /// than that.
    private var isTailLong: Bool {
        tail.count >= min(max(byteCount / 8, Self.writeByteCount), Self.longWriteByteCount)
    }

    /// Takes the next bytes of the body. Throws the failure of an earlier job.
    func append(_ bytes: Span<UInt8>) throws(IOError) {
        if let failure { throw failure }
        tail.append(bytes)
        // The first job shows early if a file cannot be made at all.
        if !isBusy, content == nil || isTailLong { write() }
    }

    /// Notes that the complete body has come. True if it can be sent on already; otherwise the
    /// owner is told when it can.
    func end() -> Bool {
        if !isEnding {
            isEnding = true
            if !isBusy { writeEnd() }
        }
        return !isBusy
    }

    private func writeEnd() {
        guard tail.count > Self.keptTailByteCountMax || resident.isEmpty else { return }
        write()
    }

    private func write() {
        let (shared, piece, path) = (shared, piece, directory.path)
        // A short tail stays in memory. The job then only makes the beginning resident.
        let isShort = isEnding && tail.count <= Self.keptTailByteCountMax
        if !isShort { swap(&piece.bytes, &tail) }
        let end = byteCount + piece.bytes.count
        // The same job makes the first bytes to be sent resident.
        let start = isEnding ? 0..<min(Self.residentByteCount, end) : 0..<0
        byteCount = end
        awaited = start
        begin { descriptorMax throws(IOError) in
            try shared.append(piece, directory: path, descriptorMax: descriptorMax, resident: start)
        }
    }

    // MARK: sending on

    /// The number of bytes from `offset` on that can be sent on without a wait. If it is 0 before
    /// the end of the body, the owner is told when to ask again.
    func bytesAtHand(from offset: Int) -> Int {
        guard offset < byteCount else { return byteCount + tail.count - offset }
        let isFresh = files.loop.now.nanoseconds(since: residentAt) < Self.residentNanoseconds
        guard isFresh, resident.contains(offset) else {
            if !isBusy { makeResident(from: offset) }
            return 0
        }
        let count = resident.upperBound - offset
        // The following bytes are fetched while these are sent.
        if !isBusy, count <= Self.residentByteCount / 2, resident.upperBound < byteCount {
            makeResident(from: resident.upperBound)
        }
        return count
    }

    private func makeResident(from offset: Int) {
        let shared = shared
        let range = offset..<min(byteCount, offset + Self.residentByteCount)
        awaited = range
        begin { _ throws(IOError) in try shared.makeResident(range) }
    }

    /// Appends to `buffer` up to `atMost` bytes from `offset`, which are at hand.
    func read(at offset: Int, into buffer: inout ByteBuffer, atMost: Int) throws(IOError) -> Int {
        guard offset < byteCount else {
            var tail = ByteBuffer()
            swap(&tail, &self.tail)
            defer { swap(&tail, &self.tail) }
            let start = offset - byteCount
            let count = min(atMost, tail.count - start)
            buffer.append(tail.readable.extracting(start..<start + count))
            return count
        }
        return try content?.read(
            at: offset, into: &buffer, atMost: min(atMost, byteCount - offset)) ?? 0
    }

    /// Sends up to `byteCountMax` bytes from `offset`, which are at hand; nil if they lie in
    /// memory.
    func send(from offset: Int, atMost byteCountMax: Int, to socket: Int32) -> WriteOutcome? {
        guard offset < byteCount else { return nil }
        return content?.send(
            from: offset, atMost: min(byteCountMax, byteCount - offset), to: socket)
    }

    // MARK: jobs

    private func begin(
        _ work: @escaping @Sendable (Int32) throws(IOError) -> TemporaryFile.Content?
    ) {
        isBusy = true
        deadline.set(afterNanoseconds: patience)
        files.run(self, work)
    }

    func jobEnded(_ outcome: Result<TemporaryFile.Content?, IOError>) {
        isBusy = false
        deadline.clear()
        if isLate {
            isLate = false
            directory.lateJobEnded()
        }
        guard !isClosed, failure == nil else { return }
        switch outcome {
        case .failure(let error): return fail(error)
        case .success(let content?): self.content = content
        case .success(nil): break
        }
        noteResident()
        if isEnding {
            writeEnd()
        } else if isTailLong {
            write()
        }
        if !isEnding || !isBusy { owner?.bodyFileIsReady() }
    }

    private func noteResident() {
        guard !awaited.isEmpty else { return }
        defer { awaited = 0..<0 }
        residentAt = files.loop.now
        let goesOn = !resident.isEmpty && resident.upperBound == awaited.lowerBound
        let start = awaited.lowerBound - (goesOn ? Self.residentByteCount / 2 : 0)
        resident = max(start, 0)..<awaited.upperBound
    }

    /// The job took longer than it may. Its outcome is ignored from now on.
    func deadlineExpired() {
        guard isBusy, !isLate else { return }
        isLate = true
        directory.jobIsLate()
        if !isClosed { fail(Self.timeout(directory.path)) }
    }

    private func fail(_ error: IOError) {
        failure = error
        // Its descriptor may be closed by now, and belong to another file.
        content = nil
        tail.release()
        owner?.bodyFileFailed(error)
    }

    /// Has the thread close the file after the present job.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        owner = nil
        content = nil
        tail.release()
        let shared = shared
        _ = queue.post { shared.close() }
    }

    /// The file itself, which only its thread touches.
    private final class SharedFile: @unchecked Sendable {
        private var file: TemporaryFile?

        func append(
            _ piece: Piece, directory: String, descriptorMax: Int32, resident: Range<Int>
        ) throws(IOError) -> TemporaryFile.Content? {
            // After an error the file is useless: it is not put back, and so it is closed.
            var file =
                if let known = self.file.take() {
                    known
                } else {
                    try TemporaryFile(directory: directory, descriptorMax: descriptorMax)
                }
            try piece.move(to: &file)
            try file.makeResident(resident)
            let content = file.content
            self.file = consume file
            return content
        }

        func makeResident(_ range: Range<Int>) throws(IOError) -> TemporaryFile.Content? {
            try file?.makeResident(range)
            return nil
        }

        func close() { file = nil }
    }

    /// Bytes on their way to the file. The worker touches it between jobs, the thread during one.
    private final class Piece: @unchecked Sendable {
        var bytes = ByteBuffer()

        func move(to file: inout TemporaryFile) throws(IOError) {
            var taken = ByteBuffer()
            swap(&taken, &bytes)
            try file.append(taken.readable)
            taken.clear()
            swap(&taken, &bytes)
        }
    }
}
