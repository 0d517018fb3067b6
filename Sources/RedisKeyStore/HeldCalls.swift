/// What waits for looks at a server: for the one that is on its way, and for the one after it.
struct HeldCalls {
    private var now: [() -> Void] = []
    private var next: [() -> Void] = []

    var isEmpty: Bool { now.isEmpty && next.isEmpty }

    /// `isLooking`: a look is on its way, which may have met the server before whatever has just
    /// been heard of.
    mutating func hold(_ call: @escaping () -> Void, isLooking: Bool) {
        if isLooking { next.append(call) } else { now.append(call) }
    }

    /// Those whose look has ended. The others wait for the next look.
    mutating func take() -> [() -> Void] {
        defer { (now, next) = (next, []) }
        return now
    }
}
