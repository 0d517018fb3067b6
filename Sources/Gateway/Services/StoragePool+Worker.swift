import Bytes

/// The storage of a worker's connections, and of held bodies.
extension StoragePool {
    /// The most bytes of one read: 16 KiB holds nearly every request completely.
    static let smallByteCount = 16 * 1024
    /// The most pieces that are kept, 4 MiB: more connections than this rarely work at once.
    private static let smallKeptCountMax = 256
    /// The most larger pieces that are kept, 4.75 MiB, for connections and bodies together.
    private static let largerKeptCountMax = 16

    /// The largest piece is what one read or write of a large answer takes (64 KiB), and a frame
    /// beyond it.
    static func ofWorker() -> StoragePool {
        StoragePool(
            byteCount: smallByteCount, keptCountMax: smallKeptCountMax,
            larger: pieces(ofKibibytes: [96, 64, 32]))
    }

    static func ofBodies() -> StoragePool? { pieces(ofKibibytes: [64, 32, 16]) }

    /// Each piece is at most twice as large as the next smaller one, so that a body that stops
    /// growing holds little more than twice its bytes, once it fills the smallest piece.
    private static func pieces(ofKibibytes sizes: [Int]) -> StoragePool? {
        sizes.reduce(nil) { larger, kibibytes in
            StoragePool(
                byteCount: kibibytes * 1024, keptCountMax: largerKeptCountMax, larger: larger)
        }
    }
}
