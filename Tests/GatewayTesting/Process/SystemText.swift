import EventLoop

/// Files of the kernel about processes (proc(5)).
public enum SystemText {
    /// All of the file. Foundation takes a short read for the end of such a file, which tells no
    /// length, and so gives the first page of it at most.
    public static func read(_ path: String) throws -> String {
        String(decoding: try File.read(path, byteCountMax: 16 << 20), as: UTF8.self)
    }
}
