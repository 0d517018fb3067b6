import EventLoop

/// Reports that the configuration's files have changed. It has a thread of its own, so that a disk
/// that does not answer delays nothing else.
///
/// It looks at the files again and again instead of asking the kernel to tell it: that works on
/// every file system, and with links of which any part is replaced.
final class FileWatcher {
    private let commands: Mailbox<Command>

    private enum Command { case stop }

    /// `changed` is called on the thread, with the paths.
    init(_ files: ConfigurationFiles, changed: @escaping @Sendable ([String]) -> Void) throws {
        let commands = try Mailbox<Command>(countMax: 1)
        self.commands = commands
        _ = try Thread.spawn(name: "files") {
            guard let loop = try? EventLoop() else { return }
            let receiver = commands.attach(to: loop) { _ in loop.stop() }
            defer { receiver.close() }
            var look = FileLook()
            let timer = Timer(loop: loop) {
                let (read, now) = files.stamps()
                let paths = look.changes(read: read, now: now)
                if !paths.isEmpty { changed(paths) }
            }
            timer.scheduleRepeating(every: Self.tick)
            loop.run()
        }
    }

    func stop() { _ = commands.post(.stop) }

    /// The time for which files must be at rest before they are read: longer than writing most of
    /// them takes.
    private static let tick = Duration.seconds(1)
}

/// Decides when changed files are to be read again: as soon as they stay as they are.
struct FileLook {
    private var last: ConfigurationFiles.Stamps = [:]
    /// The changes that were reported already. They are not reported again.
    private var told: ConfigurationFiles.Stamps = [:]

    /// The paths of files that are to be read again.
    mutating func changes(
        read: ConfigurationFiles.Stamps, now: ConfigurationFiles.Stamps
    ) -> [String] {
        defer { last = now }
        guard now != read, now == last, now != told else { return [] }
        told = now
        return now.keys.filter { now[$0] != read[$0] }.sorted()
    }
}
