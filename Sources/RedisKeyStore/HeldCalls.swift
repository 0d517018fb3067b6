/// Calls that wait for looks at a server: for the one that is on its way, and for the one after it.
struct HeldCalls {
    private var now: [() -> Void] = []
    private var next: [() -> Void] = []

    var isEmpty: Bool { now.isEmpty && next.isEmpty }

    /// `isLooking`: a look is on its way, which may have read the server before the change that was
    /// just heard of.
    mutating func hold(_ call: @escaping () -> Void, isLooking: Bool) {
        if isLooking { next.append(call) } else { now.append(call) }
    }

    /// Takes the calls whose look has ended. The others wait for the next look.
    mutating func take() -> [() -> Void] {
        defer { (now, next) = (next, []) }
        return now
    }
}
