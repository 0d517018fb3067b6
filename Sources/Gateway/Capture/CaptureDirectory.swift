import EventLoop
import Settings

/// A directory of files that are named by their time, bounded in number and bytes; the oldest are
/// deleted first. For one thread, which may wait for the disk.
struct CaptureDirectory {
    let settings: CaptureSettings
    /// The files, the oldest first.
    private var files: [(path: String, byteCount: Int)] = []
    private var byteCount = 0
    private let fileCountMax: Int

    /// More than a person looks through, and few enough to be listed in a moment.
    static let fileCountMax = 10_000

    /// Makes the directory if it is missing.
    init(
        _ settings: CaptureSettings, fileCountMax: Int = fileCountMax
    ) throws(IOError) {
        self.settings = settings
        self.fileCountMax = fileCountMax
        try File.makePrivateDirectory(settings.directory)
        try list()
    }

    /// Writes a file. False, and nothing is written, if it is larger than all files may be
    /// together.
    @discardableResult
    mutating func keep(_ name: String, _ bytes: [UInt8]) throws(IOError) -> Bool {
        guard bytes.count <= settings.byteCountMax else { return false }
        try makeRoom(for: bytes.count)
        let path = settings.directory + "/" + name
        try File.write(path, bytes, mode: 0o600)
        files.append((path, bytes.count))
        byteCount += bytes.count
        return true
    }

    private mutating func makeRoom(for newCount: Int) throws(IOError) {
        guard files.count >= fileCountMax || byteCount + newCount > settings.byteCountMax else {
            return
        }
        // Another gateway, which this one replaces, may write here too, and people remove files.
        try list()
        // Deletes a tenth more than is needed, so that not every file has the directory listed
        // again.
        let countMax = fileCountMax - max(1, fileCountMax / 10)
        let bytesMax = settings.byteCountMax - max(newCount, settings.byteCountMax / 10)
        var removedCount = 0
        while removedCount < files.count,
            files.count - removedCount > countMax || byteCount > bytesMax
        {
            let oldest = files[removedCount]
            try File.remove(oldest.path)
            byteCount -= oldest.byteCount
            removedCount += 1
        }
        files.removeFirst(removedCount)
    }

    /// Lists the files. Deletes what a crash left half written.
    private mutating func list() throws(IOError) {
        files = []
        byteCount = 0
        let prefix = settings.directory + "/"
        for path in try File.namesBeginning(prefix).sorted() {
            let name = path.dropFirst(prefix.count)
            if CaptureFile.isName(name) {
                let count = File.byteCount(path) ?? 0
                files.append((path, count))
                byteCount += count
            } else if name.hasPrefix("."), let end = name.lastIndex(of: "."),
                CaptureFile.isName(name[..<end].dropFirst())
            {
                try File.remove(path)
            }
        }
    }
}
