import CLibevent
import CLinux

/// A file, a socket or a name that could not be used, and the reason.
public struct IOError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A path, an address or a name, as the operator wrote it.
    public let subject: String
    public let reason: Reason

    public enum Reason: Hashable, Sendable {
        case notFound
        case permissionDenied
        case alreadyExists
        case isDirectory
        /// The file is a link, a pipe, a socket or a device.
        case notRegular
        /// There is no room or no quota, or the largest size of a file is reached.
        case diskFull
        case readOnlyFileSystem
        case addressInUse
        case addressNotAvailable
        case outOfDescriptors
        /// Too many requests wait for it already.
        case busy
        /// Other users may read what should be private.
        case openToOthers
        /// It is longer than the caller allowed.
        case tooLarge(byteCountMax: Int)
        /// There was no answer within the setting of this name.
        case unanswered(String)
        /// Another process holds the lock.
        case locked
        /// It is on a file system with a disk, but must not wait for one.
        case notInMemory
        /// Another program has cut it short while it was in use.
        case cutShort
        /// It was last changed later than the clock shows, so its age is not known.
        case changedInFuture
        /// The name has no address; the text has the resolver's words.
        case unresolved(String)
        case other(errno: Int32)
    }

    public init(_ subject: String, _ reason: Reason) {
        self.subject = subject
        self.reason = reason
    }

    public init(_ subject: String, errno code: Int32) {
        self.init(subject, Reason(errno: code))
    }

    public var description: String { "\(subject): \(reason.text)" }

    /// The system's words for an error number, starting in lower case.
    public static func text(errno code: Int32) -> String {
        // glibc's strerror is safe between threads since 2.32.
        guard let words = unsafe strerror(code) else { return "error \(code)" }
        let text = unsafe String(cString: words)
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

extension IOError.Reason {
    public init(errno code: Int32) {
        self =
            switch code {
            case ENOENT, ENOTDIR: .notFound
            case EACCES, EPERM: .permissionDenied
            case EEXIST: .alreadyExists
            case EISDIR: .isDirectory
            case ENOSPC, EDQUOT, EFBIG: .diskFull
            case EROFS: .readOnlyFileSystem
            case EADDRINUSE: .addressInUse
            case EADDRNOTAVAIL: .addressNotAvailable
            case EMFILE, ENFILE: .outOfDescriptors
            default: .other(errno: code)
            }
    }

    public var text: String {
        switch self {
        case .notFound: "no such file or directory"
        case .permissionDenied: "permission denied"
        case .alreadyExists: "file exists"
        case .isDirectory: "is a directory"
        case .notRegular: "is not a regular file"
        case .diskFull: "no space left on device"
        case .readOnlyFileSystem: "read-only file system"
        case .addressInUse: "address already in use"
        case .addressNotAvailable: "cannot assign requested address"
        case .outOfDescriptors: "too many open files"
        case .busy: "too many requests wait for it"
        case .openToOthers: "open to other users: chmod 700"
        case .tooLarge(let byteCountMax): "larger than \(byteCountMax) bytes"
        case .unanswered(let setting): "no answer within \(setting)"
        case .locked: "held by another process"
        case .notInMemory: "not on a file system in memory (tmpfs)"
        case .cutShort: "was cut short by another program"
        case .changedInFuture: "was changed later than the clock shows, so its age is not known"
        case .unresolved(let words): words
        case .other(let code): IOError.text(errno: code)
        }
    }
}
