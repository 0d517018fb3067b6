import Bytes
import Crypto

/// The name of one process's file of floors: a base that all processes of a registry share, and a
/// random number.
struct FloorFileName: Sendable {
    let path: String
    /// The name of the file before it is complete.
    let draftPath: String

    init(base: String, number: UInt64) {
        var name = ByteBuffer()
        name.append(paddedHexadecimal: number)
        let suffix = "-" + String(decoding: name.readable.array, as: UTF8.self)
        path = base + suffix
        draftPath = base + Self.draftSuffix + suffix
    }

    private static let draftSuffix = ".new"

    /// True if `path` is the path of a file beside `base`.
    static func isPath(_ path: String, beside base: String) -> Bool {
        let name = path.utf8.dropFirst(base.utf8.count)
        return path.hasPrefix(base) && name.count == 17 && name.first == 0x2D
            && name.dropFirst().allSatisfy { Hex.value($0) != nil }
    }

    /// True if `path` is the path of a draft beside `base`.
    static func isDraftPath(_ path: String, beside base: String) -> Bool {
        isPath(path, beside: base + draftSuffix)
    }
}
