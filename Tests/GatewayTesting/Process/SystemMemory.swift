import CSQLite
import Foundation

/// What the system says of files whose content lies in memory.
public enum SystemMemory {
    /// Whether it tells what it would have to fetch first, of temporary files.
    public static let isTold = isTold(in: NSTemporaryDirectory())

    /// Whether it tells that of files in this folder: not every file system does.
    public static func isTold(in folder: String) -> Bool {
        let path = "\(folder)/told-\(UUID().uuidString)"
        let file = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
        defer {
            close(file)
            unlink(path)
        }
        var byte: UInt8 = 1
        // A test that cannot write fails by itself.
        guard write(file, &byte, 1) == 1 else { return true }
        return sallyport_read_what_is_there(file, &byte, 1, 0) == 1
    }
}
