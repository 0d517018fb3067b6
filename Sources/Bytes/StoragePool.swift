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
    /// Room for `keptCountMax` pieces, of which the first `keptCount` are there.
    private let kept: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>>
    private var keptCount = 0

    /// - Parameters:
    ///   - byteCount: of each piece; larger buffers use memory of their own.
    ///   - keptCountMax: pieces kept for later use; more are freed.
    public init(byteCount: Int, keptCountMax: Int) {
        self.byteCount = byteCount
        self.keptCountMax = keptCountMax
        unsafe kept = .allocate(capacity: keptCountMax)
    }

    deinit {
        for index in 0..<keptCount { unsafe kept[index].deallocate() }
        unsafe kept.deallocate()
    }

    func take() -> UnsafeMutablePointer<UInt8> {
        guard keptCount > 0 else {
            return UnsafeMutablePointer<UInt8>.allocate(capacity: byteCount)
        }
        keptCount &-= 1
        return unsafe kept[keptCount]
    }

    func giveBack(_ piece: UnsafeMutablePointer<UInt8>) {
        guard keptCount < keptCountMax else { return unsafe piece.deallocate() }
        unsafe kept[keptCount] = unsafe piece
        keptCount &+= 1
    }
}
