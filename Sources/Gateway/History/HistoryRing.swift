/// A range of the history in slots: a minute each for an hour, a quarter of an hour each for a day.
enum HistoryRange: String, CaseIterable {
    case hour
    case day

    var slotCount: Int { self == .hour ? 60 : 96 }
    var minutesPerSlot: Int { self == .hour ? 1 : 15 }

    /// The number of slots that have begun by `minute`, the first of which is 0.
    func slotCount(at minute: Int) -> Int { min(slotCount, minute / minutesPerSlot + 1) }
}

/// The counts of a few columns in the last hour and day, in memory of a fixed size.
struct HistoryRing {
    let columnCount: Int
    /// The counts by slot and column. A slot's place is its number modulo the number of slots.
    private var minutes: [UInt32]
    private var quarters: [UInt32]

    init(columnCount: Int) {
        self.columnCount = columnCount
        minutes = Array(repeating: 0, count: HistoryRange.hour.slotCount * columnCount)
        quarters = Array(repeating: 0, count: HistoryRange.day.slotCount * columnCount)
    }

    static func byteCount(columnCount: Int) -> Int {
        HistoryRange.allCases.reduce(0) { $0 + $1.slotCount } * columnCount
            * MemoryLayout<UInt32>.stride
    }

    /// Adds to the slots of `minute`, up to the largest number that they can hold.
    mutating func add(_ amount: UInt64, column: Int, at minute: Int) {
        precondition(column < columnCount)
        let amount = UInt32(clamping: amount)
        let index = place(of: minute, .hour) + column
        minutes[index] = minutes[index].addingClamped(amount)
        let quarterIndex = place(of: minute / HistoryRange.day.minutesPerSlot, .day) + column
        quarters[quarterIndex] = quarters[quarterIndex].addingClamped(amount)
    }

    /// Empties the slots that begin after `old` and up to `minute`.
    mutating func advance(from old: Int, to minute: Int) {
        for range in HistoryRange.allCases {
            let (first, last) = (old / range.minutesPerSlot + 1, minute / range.minutesPerSlot)
            guard first <= last else { continue }
            for slot in max(first, last - range.slotCount + 1)...last {
                let start = place(of: slot, range)
                for index in start..<start + columnCount {
                    if range == .hour { minutes[index] = 0 } else { quarters[index] = 0 }
                }
            }
        }
    }

    /// The counts of one slot, by column.
    func slot(_ number: Int, _ range: HistoryRange) -> ArraySlice<UInt32> {
        let start = place(of: number, range)
        return (range == .hour ? minutes : quarters)[start..<start + columnCount]
    }

    /// True if nothing was counted for a day.
    var isEmpty: Bool { !quarters.contains { $0 != 0 } }

    private func place(of slot: Int, _ range: HistoryRange) -> Int {
        slot % range.slotCount * columnCount
    }
}

extension UInt32 {
    fileprivate func addingClamped(_ amount: UInt32) -> UInt32 {
        let (sum, overflow) = addingReportingOverflow(amount)
        return overflow ? .max : sum
    }
}
