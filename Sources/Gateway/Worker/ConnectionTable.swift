/// A worker's client connections in numbered slots: O(1) to add, find and remove.
struct ConnectionTable {
    private var slots: [(any ClientConnection)?] = []
    private var free: [Int] = []
    private(set) var count = 0

    mutating func insert(_ connection: any ClientConnection) -> Int {
        count += 1
        if let slot = free.popLast() {
            slots[slot] = connection
            return slot
        }
        slots.append(connection)
        return slots.count - 1
    }

    mutating func replace(at slot: Int, with connection: any ClientConnection) {
        slots[slot] = connection
    }

    mutating func remove(at slot: Int) {
        guard slots[slot] != nil else { return }
        slots[slot] = nil
        free.append(slot)
        count -= 1
    }

    /// A copy, because closing a connection changes the table.
    var all: [any ClientConnection] { slots.compactMap { $0 } }
}
