import Bytes

/// The storage of a worker's connections.
extension StoragePool {
    /// What one read takes at most: 16 KiB holds nearly every request whole.
    static let smallByteCount = 16 * 1024
    /// 4 MiB at most: more connections than this rarely work at once.
    private static let smallKeptCountMax = 256
    /// What one read or write of a large answer takes (64 KiB), and a frame beyond it.
    private static let largeByteCount = 96 * 1024
    /// 1.5 MiB at most.
    private static let largeKeptCountMax = 16

    static func ofWorker() -> StoragePool {
        StoragePool(
            byteCount: smallByteCount, keptCountMax: smallKeptCountMax,
            larger: StoragePool(byteCount: largeByteCount, keptCountMax: largeKeptCountMax))
    }

    /// For bodies that are held back. Each piece is twice as large as the one before, so that a
    /// body which does not go on holds no more than twice its bytes.
    static func ofBodies() -> StoragePool {
        [32, 16].reduce(
            StoragePool(byteCount: 64 * 1024, keptCountMax: bodyKeptCountMax)
        ) { larger, kibibytes in
            StoragePool(
                byteCount: kibibytes * 1024, keptCountMax: bodyKeptCountMax, larger: larger)
        }
    }

    /// 1.75 MiB at most.
    private static let bodyKeptCountMax = 16
}
