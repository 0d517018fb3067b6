/// Pieces of memory of one size that buffers lend from each other, most recently used first.
///
/// For buffers that are empty most of the time: ten thousand idle connections hold none, and the
/// few that work at a time use the same, still warm, pieces. Freed one by one between objects that
/// live on, they would leave holes that no system gets back. Large ones at the end of the heap
/// would go back to the system with each answer, and cost the next one a page fault for each 4 KiB.
/// One thread at a time.
@safe
public final class StoragePool {
    /// The size of a piece.
    let byteCount: Int
    private let keptCountMax: Int
    /// Lends what needs more than a piece of this pool.
    private let larger: StoragePool?
    /// Room for `keptCountMax` pieces, of which the first `keptCount` are there.
    private let kept: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>>
    private var keptCount = 0

    /// - Parameters:
    ///   - byteCount: of each piece.
    ///   - keptCountMax: pieces kept for later use; more are freed.
    ///   - larger: lends larger pieces; what these do not hold uses memory of its own.
    public init(byteCount: Int, keptCountMax: Int, larger: StoragePool? = nil) {
        self.byteCount = byteCount
        self.keptCountMax = keptCountMax
        self.larger = larger
        unsafe kept = .allocate(capacity: keptCountMax)
    }

    deinit {
        for index in 0..<keptCount { unsafe kept[index].deallocate() }
        unsafe kept.deallocate()
    }

    /// A piece of at least `neededByteCount` bytes, or nil if none is so large. Inlined, because
    /// nearly all are small.
    @inline(__always)
    func take(
        atLeast neededByteCount: Int
    ) -> (piece: UnsafeMutablePointer<UInt8>, byteCount: Int)? {
        guard neededByteCount <= byteCount else {
            return unsafe takeLarger(neededByteCount)
        }
        guard keptCount > 0 else {
            return (.allocate(capacity: byteCount), byteCount)
        }
        keptCount &-= 1
        return unsafe (kept[keptCount], byteCount)
    }

    @inline(never)
    private func takeLarger(
        _ neededByteCount: Int
    ) -> (piece: UnsafeMutablePointer<UInt8>, byteCount: Int)? {
        unsafe larger?.take(atLeast: neededByteCount)
    }

    /// Takes back what was lent, and any other storage.
    @inline(__always)
    func giveBack(_ piece: UnsafeMutablePointer<UInt8>, byteCount: Int) {
        guard byteCount == self.byteCount else {
            return unsafe giveBackLarger(piece, byteCount)
        }
        guard keptCount < keptCountMax else { return unsafe piece.deallocate() }
        unsafe kept[keptCount] = unsafe piece
        keptCount &+= 1
    }

    @inline(never)
    private func giveBackLarger(_ piece: UnsafeMutablePointer<UInt8>, _ byteCount: Int) {
        guard let larger else { return unsafe piece.deallocate() }
        unsafe larger.giveBack(piece, byteCount: byteCount)
    }
}
