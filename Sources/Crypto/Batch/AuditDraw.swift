/// Draws the verdicts that are repeated. Each has the same chance, and no client can foresee it.
struct AuditDraw {
    private let percent: Int
    private var bytes: [UInt8] = []
    private var offset = 0

    init(percent: Int) { self.percent = percent }

    mutating func next() -> Bool {
        if offset == bytes.count {
            bytes = RandomBytes.bytes(Self.bulkByteCount)
            offset = 0
        }
        defer { offset += 2 }
        let number = Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
        // Out of 65,536 numbers; the rounding error is less than a fortieth of a percent.
        return number * 100 < percent << 16
    }

    private static let bulkByteCount = 512
}
