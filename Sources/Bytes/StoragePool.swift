/// Pieces of memory of one size that buffers borrow, most recently used first.
///
/// For buffers that are empty most of the time: ten thousand idle connections hold none, and the
/// few that work at a time use the same pieces, which are still in the cache. If pieces were freed
/// one by one between objects that live on, they would leave holes that never return to the system.
/// Large ones at the end of the heap would return to it with each answer, and cost the next answer
/// a page fault for each 4 KiB. One thread at a time.
@safe
public final class StoragePool {
    /// The size of a piece.
    let byteCount: Int
    private let keptCountMax: Int
    /// The pool that lends pieces larger than those of this one.
    private let larger: StoragePool?
    /// Room for `keptCountMax` pieces, of which `keptCount` are there.
    private let kept: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>>
    private var keptCount = 0

    /// - Parameters:
    ///   - byteCount: the size of each piece.
    ///   - keptCountMax: the number of pieces kept for later use; more are freed.
    ///   - larger: the pool for larger pieces; requests that no pool can serve use the heap.
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

    /// A piece of at least `neededByteCount` bytes; nil if no piece is so large. Inlined, because
    /// nearly all requests are small.
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

    /// Takes back a piece that was lent, and any other storage.
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
