import CLibevent
import CLinux

/// Keeps a second process away from something that the first one owns, for as long as this value
/// lives; a killed process releases it. The corresponding C function is `flock`.
public struct FileLock: ~Copyable {
    private let file: Descriptor

    /// Takes the lock without waiting, or throws ``IOError/Reason/locked``. The file is made if it
    /// is missing, and stays behind, because removing it would let two processes lock two files.
    public init(path: String) throws(IOError) {
        let file = try File.open(path, O_RDWR | O_CREAT, mode: 0o600)
        try Self.take(file.raw, path)
        self.file = file
    }

    deinit { Self.release(file.raw) }

    /// Gives back the lock of an open file, before it is closed: closing alone would leave the lock
    /// with a child that this process is just starting, which has the descriptor, too, until it
    /// runs its own program.
    static func release(_ descriptor: Int32) { _ = flock(descriptor, LOCK_UN) }

    /// Locks an open file. To be given back by ``release(_:)``.
    static func take(_ descriptor: Int32, _ path: String) throws(IOError) {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = sallyport_errno()
            if code == EWOULDBLOCK { throw IOError(path, .locked) }
            if code != EINTR { throw IOError(path, errno: code) }
        }
    }
}
