import Glibc

/// The device and inode of a file.
struct FileNumber: Hashable {
    let device: UInt64
    let inode: UInt64

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// Nil if the file cannot be examined.
    init?(descriptor: Int32) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }
}
