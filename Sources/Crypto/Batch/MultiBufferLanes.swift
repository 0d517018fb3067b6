import Bytes
import CCryptoMB

/// The input of one call: eight signatures with their digests and keys.
///
/// Every lane is always filled: its content stays until it is set again.
@safe
struct MultiBufferLanes: ~Copyable {
    static let count = 8

    private let lanes: UnsafeMutablePointer<sallyport_mbx_lanes>

    /// Lanes that all hold `filler`.
    init(filledWith filler: P256SignedDigest) {
        unsafe lanes = .allocate(capacity: 1)
        unsafe lanes.initialize(to: sallyport_mbx_lanes())
        for lane in 0..<Self.count { set(lane, filler) }
    }

    deinit { unsafe lanes.deallocate() }

    /// The input in the library's form.
    @unsafe var pointer: UnsafePointer<sallyport_mbx_lanes> { unsafe UnsafePointer(lanes) }

    mutating func set(_ lane: Int, _ signed: P256SignedDigest) {
        precondition(lane >= 0 && lane < Self.count)
        setBytes(lane, 0, signed.signature.r)
        setBytes(lane, 1, signed.signature.s)
        setBytes(lane, 2, signed.digest)
        setWords(lane, 3, signed.key.x)
        setWords(lane, 4, signed.key.y)
    }

    private mutating func setBytes(_ lane: Int, _ index: Int32, _ number: Bytes32) {
        let words = number.bigEndianWords
        unsafe sallyport_mbx_set_lane(
            lanes, index, Int32(lane), words[0], words[1], words[2], words[3])
    }

    /// Writes a number, the least significant word first.
    private mutating func setWords(_ lane: Int, _ index: Int32, _ number: Bytes32) {
        unsafe sallyport_mbx_set_lane(
            lanes, index, Int32(lane), number.word3, number.word2, number.word1, number.word0)
    }
}
