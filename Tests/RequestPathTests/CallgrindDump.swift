/// What callgrind has counted between two moments, read from one of its dumps ("Callgrind Format
/// Specification" of valgrind's manual).
struct CallgrindDump {
    /// Instructions of everything that was counted.
    let instructions: Int
    /// Instructions by the file of the program or library that they are in.
    private var byObject: [Substring: Int] = [:]
    /// By the name of a function: how often it was called, and with how many instructions, those of
    /// what it called included.
    private var calls: [Substring: (count: Int, instructions: Int)] = [:]

    /// Nil for a dump that is not complete.
    init?(_ text: String) {
        guard let total = Self.total(of: text) else { return nil }
        instructions = total
        var objects = Names()
        var functions = Names()
        var object = Substring()
        var callee = Substring()
        /// How often the callee was called whose instructions the next line tells.
        var callCount: Int?
        // By bytes, because dumps are long, and where a character ends takes long to find.
        for line in text.utf8.split(separator: Self.lineFeed).map(Substring.init) {
            switch line.utf8.first {
            // A digit, or a sign where a number is left out.
            case .some(0x30...0x39), 0x2B, 0x2D, 0x2A:
                guard let count = Self.parts(of: line).flatMap({ Int($0.rest) }) else {
                    return nil
                }
                if let times = callCount {
                    calls[callee, default: (0, 0)].count += times
                    calls[callee, default: (0, 0)].instructions += count
                    callCount = nil
                } else {
                    byObject[object, default: 0] += count
                }
            default:
                guard let sign = line.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
                let value = line[line.utf8.index(after: sign)...]
                switch line[..<sign] {
                case "ob": object = objects.name(value)
                case "cob": _ = objects.name(value)
                case "fn": _ = functions.name(value)
                case "cfn": callee = functions.name(value)
                case "calls": callCount = Self.parts(of: value).flatMap { Int($0.word) }
                default: break
                }
            }
        }
    }

    /// The instructions of everything that a dump has counted: its last line, which is all that is
    /// read of it. Nil for a dump that is not complete.
    static func total(of text: String) -> Int? {
        guard text.utf8.last == lineFeed else { return nil }
        let end = text.utf8.suffix(40).dropLast()
        guard let start = end.lastIndex(of: lineFeed) else { return nil }
        let line = text[end.index(after: start)..<end.endIndex]
        return line.hasPrefix("totals: ") ? Int(line.dropFirst(8)) : nil
    }

    private static let lineFeed = UInt8(ascii: "\n")

    /// What stands before and behind the first space; nil if there is none.
    private static func parts(of line: Substring) -> (word: Substring, rest: Substring)? {
        guard let space = line.utf8.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        return (line[..<space], line[line.utf8.index(after: space)...])
    }

    /// `(3) name` gives a name a number, and `(3)` stands for it from then on.
    private struct Names {
        private var known: [Substring: Substring] = [:]

        mutating func name(_ value: Substring) -> Substring {
            guard let (number, name) = CallgrindDump.parts(of: value) else {
                return known[value] ?? value
            }
            known[number] = name
            return name
        }
    }

    /// Instructions of the program's own code, without its libraries'.
    func ownInstructions(of program: String) -> Int {
        byObject.filter { $0.key.hasSuffix("/" + program) }.values.reduce(0, +)
    }

    /// Calls of Swift's allocator, by whichever of our functions.
    var allocations: Int { called("swift_slowAlloc").map(\.count).reduce(0, +) }

    /// Calls of the function of this name, without what is nested in it.
    func callCount(named name: String) -> Int { calls[name[...]]?.count ?? 0 }

    /// Instructions in calls of functions whose name has this prefix, what they call included.
    func instructions(in prefix: String) -> Int {
        called(prefix).map(\.instructions).reduce(0, +)
    }

    private func called(_ prefix: String) -> [(count: Int, instructions: Int)] {
        calls.filter { $0.key.hasPrefix(prefix) }.map(\.value)
    }
}
