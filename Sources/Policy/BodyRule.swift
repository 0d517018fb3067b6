public import JSON

/// A rule about one member of a request's JSON body.
public struct BodyRule: Hashable, Sendable {
    public enum Value: Hashable, Sendable {
        case text(String)
        case number(Int)
    }

    public var pointer: JSONPointer
    /// The values that the member may have; empty if a range is demanded instead.
    public var values: [Value] = []
    /// The smallest number that the member may be; nil for 0.
    public var min: Int?
    /// The largest number that the member may be; nil for no bound.
    public var max: Int?
    /// False if the member may be absent. Nil if the configuration leaves it open: a member with
    /// ``values`` must then be there, one with a range need not.
    public var required: Bool?

    public init(pointer: JSONPointer) { self.pointer = pointer }

    public var isRequired: Bool { required ?? !values.isEmpty }

    /// True if the rule lets the member pass.
    public func allows(_ member: JSONMember) -> Bool {
        switch member {
        case .absent: !isRequired
        case .string(let text):
            // Byte by byte, because Swift takes texts for equal that servers tell apart.
            values.contains { value in
                if case .text(let own) = value { own.utf8.elementsEqual(text) } else { false }
            }
        case .number(let number): values.isEmpty ? isInRange(number) : isListed(number)
        case .other, .repeated: false
        }
    }

    private func isListed(_ number: JSONNumber) -> Bool {
        guard let value = number.unsignedInteger.flatMap({ Int(exactly: $0) }) else { return false }
        return values.contains(.number(value))
    }

    private func isInRange(_ number: JSONNumber) -> Bool {
        // Several servers take a number below zero for no bound, so none passes.
        guard let low = JSONNumber("\(min ?? 0)"), number >= low else { return false }
        guard let max else { return true }
        guard let high = JSONNumber("\(max)") else { return false }
        return number <= high
    }
}
