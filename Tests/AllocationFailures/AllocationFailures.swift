import Glibc

/// Lets each allocation of a library fail, in each operation of the fences, and looks at what
/// becomes of the operation: `AllocationFailures [--every K | --last K] [NAME...]`.
///
/// The n-th allocation fails alone, and then together with all later ones; with `--every` only each
/// K-th is tried, with `--last` only the last K. Ends with 1 if a fault was found, or a planted one
/// was not.
@main
enum AllocationFailures {
    static func main() throws {
        Starvation.install()
        var names = Array(CommandLine.arguments.dropFirst())
        var choice = Choice.every(1)
        if names.count > 1, let chosen = Choice(names[0], Int(names[1])) {
            choice = chosen
            names.removeFirst(2)
        }
        let inputs = try Inputs()
        var hasFailed = false
        for operation in try Planted.operations() + Operation.all(inputs)
        where names.isEmpty || names.contains(where: operation.name.contains) {
            let faults = faults(of: operation, operation.isPlanted ? .every(1) : choice)
            if operation.isPlanted != faults.isEmpty { continue }
            hasFailed = true
            if operation.isPlanted { print("\(operation.name): the planted fault was not found") }
        }
        exit(hasFailed ? 1 : 0)
    }

    /// Which allocations fail.
    private enum Choice {
        case every(Int)
        case last(Int)

        init?(_ option: String, _ number: Int?) {
            guard let number, number > 0 else { return nil }
            switch option {
            case "--every": self = .every(number)
            case "--last": self = .last(number)
            default: return nil
            }
        }

        func numbers(upTo count: Int) -> [Int] {
            switch self {
            case .every(let step): Array(stride(from: 1, through: count, by: step))
            case .last(let lastCount): Array((1..<count + 1).suffix(lastCount))
            }
        }
    }

    /// The faults of one operation, which are printed unless they were planted.
    private static func faults(of operation: Operation, _ choice: Choice) -> [String] {
        var faults: [String] = []
        // Twice: libraries keep what they looked up.
        for _ in 1...2 {
            let outcome = operation.run()
            if outcome != .right { faults.append("with memory: \(outcome)") }
        }
        Starvation.arm(.none, operation.library)
        _ = operation.run()
        let count = Starvation.count
        var refusedCount = 0
        var triedCount = 0
        for number in choice.numbers(upTo: count) {
            for (name, plan) in [
                ("once", Starvation.Plan.once(number)), ("onward", .onward(number)),
            ] {
                let verdict = Injection.run(operation, plan)
                triedCount += 1
                if verdict.outcome == .refused { refusedCount += 1 }
                if let fault = verdict.fault { faults.append("\(number) \(name): \(fault)") }
            }
        }
        guard !operation.isPlanted else { return faults }
        print(
            "\(operation.name): \(count) allocations, \(triedCount) failures, "
                + "\(refusedCount) refused, \(faults.count) faults")
        for fault in faults { print("    \(fault)") }
        fflush(nil)
        return faults
    }
}
