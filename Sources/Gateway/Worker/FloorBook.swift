import AppAttest

/// The highest counters that one worker has seen accepted lately, on their way to the registry.
///
/// They leave it a whole turn after they were noted. By then every challenge has expired that a
/// lower counter of the same device can answer, so that a floor refuses nobody who is only late.
struct FloorBook {
    /// 36 bytes each, twice. What does not fit is noted when the device comes again: floors may be
    /// late, never too high.
    static let keyCountMax = 32_768

    private var current: [KeyID: UInt32] = [:]
    private var previous: [KeyID: UInt32] = [:]

    mutating func note(_ keyID: KeyID, _ counter: UInt32) {
        if let known = current[keyID] {
            if counter > known { current[keyID] = counter }
        } else if current.count < Self.keyCountMax {
            current[keyID] = counter
        }
    }

    /// Ends a turn: gives what the last one noted.
    mutating func turn() -> [(keyID: KeyID, counter: UInt32)] {
        let floors = previous.map { (keyID: $0.key, counter: $0.value) }
        swap(&previous, &current)
        current.removeAll(keepingCapacity: true)
        return floors
    }
}
