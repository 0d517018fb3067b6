import CLinux

extension File {
    /// True if `path` leads to the open file, which was neither removed nor replaced.
    static func leads(_ path: String, to descriptor: Int32) -> Bool {
        var own = stat()
        var found = stat()
        guard unsafe fstat(descriptor, &own) == 0, unsafe stat(path, &found) == 0 else {
            return false
        }
        return own.st_dev == found.st_dev && own.st_ino == found.st_ino
    }
}
