/// Pieces of memory of one size that buffers lend from each other, most recently used first.
///
/// For buffers that are empty most of the time: ten thousand idle connections hold none, and the
/// few that work at a time use the same, still warm, pieces. Freed one by one between objects that
/// live on, they would leave holes that no system gets back. One thread at a time.
@safe
public final class StoragePool {
    /// The size of a piece.
    let byteCount: Int
    private let keptCountMax: Int
    private var kept: [UnsafeMutablePointer<UInt8>] = unsafe []

    /// - Parameters:
    ///   - byteCount: of each piece; larger buffers use memory of their own.
    ///   - keptCountMax: pieces kept for later use; more are freed.
    public init(byteCount: Int, keptCountMax: Int) {
        self.byteCount = byteCount
        self.keptCountMax = keptCountMax
    }

    deinit {
        while let piece = unsafe kept.popLast() { unsafe piece.deallocate() }
    }

    func take() -> UnsafeMutablePointer<UInt8> {
        if let piece = unsafe kept.popLast() { return unsafe piece }
        return UnsafeMutablePointer<UInt8>.allocate(capacity: byteCount)
    }

    func giveBack(_ piece: UnsafeMutablePointer<UInt8>) {
        if unsafe kept.count < keptCountMax {
            unsafe kept.append(piece)
        } else {
            unsafe piece.deallocate()
        }
    }
}
