import Bytes
import JSON

/// The contents of an object and the checks that it passes. It is meant for a developer; no
/// decision of the gateway rests on it.
///
/// Each platform makes it for its own objects. It runs the same checks as the verifiers, but goes
/// on after a failure if that makes sense. An object is `valid` if no step failed and everything
/// that its kind requires was given; what else may be given is compared, and visibly skipped if it
/// is not.
public struct Explanation: Hashable, Sendable {
    /// The result of a step.
    public enum Outcome: String, Sendable {
        case passed
        case failed
        /// The step was not checked, because something was not given or an earlier step failed.
        case skipped
    }

    /// One check, or one step of decoding.
    public struct Step: Hashable, Sendable {
        /// A word such as `certificate_chain`.
        public let name: String
        public let outcome: Outcome
        /// A sentence for people.
        public let detail: String
    }

    /// The value of a field.
    public enum Value: Hashable, Sendable {
        case text(String)
        case integer(Int64)
        case boolean(Bool)
        case texts([String])
    }

    /// One thing that the object states, or that follows from it.
    public struct Field: Hashable, Sendable {
        public let name: String
        public let value: Value
    }

    /// The kind of object, as the `explain` command names it.
    public let kind: String
    /// The steps, in the order in which the verifier takes them.
    public private(set) var steps: [Step] = []
    /// The fields of the object, in reading order, with times and binary values as text.
    public private(set) var fields: [Field] = []
    /// `ok`, or the code of the first step that failed, or of the first requirement not met.
    public private(set) var code = "ok"

    package init(_ kind: String) { self.kind = kind }

    /// True if a gateway with the same expectations would accept the object.
    public var isValid: Bool { code == "ok" }
    /// `valid` or `invalid`.
    public var verdict: String { isValid ? "valid" : "invalid" }

    /// The value of a field; nil if the object has no such field.
    public subscript(_ name: String) -> Value? { fields.first { $0.name == name }?.value }

    // MARK: making an explanation

    package mutating func pass(_ name: String, _ detail: String) {
        steps.append(Step(name: name, outcome: .passed, detail: detail))
    }

    package mutating func fail(_ name: String, code: String, _ detail: String) {
        steps.append(Step(name: name, outcome: .failed, detail: detail))
        if isValid { self.code = code }
    }

    /// Runs one check. `body` returns the reason for skipping it, or nil if it passed.
    package mutating func check<Failure: CodedFailure>(
        _ name: String, _ claim: String, _ body: () throws(Failure) -> String?
    ) {
        do throws(Failure) {
            if let reason = try body() { skip(name, reason) } else { pass(name, claim) }
        } catch {
            fail(name, code: error.code, error.description)
        }
    }

    package mutating func skip(_ name: String, _ detail: String) {
        steps.append(Step(name: name, outcome: .skipped, detail: detail))
    }

    /// Adds a step that cannot be taken and without which nothing is proven.
    package mutating func lack(_ name: String, code: String, _ detail: String) {
        skip(name, detail)
        if isValid { self.code = code }
    }

    package mutating func add(_ name: String, _ value: String?) {
        if let value { fields.append(Field(name: name, value: .text(value))) }
    }

    package mutating func add(_ name: String, _ value: Int64?) {
        if let value { fields.append(Field(name: name, value: .integer(value))) }
    }

    package mutating func add(_ name: String, _ value: Bool) {
        fields.append(Field(name: name, value: .boolean(value)))
    }

    package mutating func add(_ name: String, _ values: [String]) {
        fields.append(Field(name: name, value: .texts(values)))
    }
}

extension Explanation {
    /// `{"verdict", "code", "steps": [{"name", "outcome", "detail"}], "fields": {...}}`.
    public var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("verdict", string: verdict)
        writer.member("code", string: code)
        writer.beginArray("steps")
        for step in steps {
            writer.beginObject()
            writer.member("name", string: step.name)
            writer.member("outcome", string: step.outcome.rawValue)
            writer.member("detail", string: step.detail)
            writer.endObject()
        }
        writer.endArray()
        writer.beginObject("fields")
        for field in fields { writer.member(named: field.name, value: field.value.json) }
        writer.endObject()
        writer.endObject()
        let buffer = writer.finish()
        return buffer.readable.array
    }

    /// Lines for a terminal.
    public var text: String {
        var lines = ["\(kind): \(verdict) (\(code))", ""]
        for step in steps {
            let mark =
                switch step.outcome {
                case .passed: "ok  "
                case .failed: "FAIL"
                case .skipped: "  - "
                }
            lines.append("\(mark)  \(Self.column(step.name, 20))  \(step.detail)")
        }
        lines.append("")
        for field in fields {
            lines.append("\(Self.column(field.name, 26))  \(field.value)")
        }
        return lines.joined(separator: "\n")
    }

    private static func column(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

extension Explanation.Value: CustomStringConvertible {
    public var description: String {
        switch self {
        case .text(let text): text
        case .integer(let number): "\(number)"
        case .boolean(let flag): "\(flag)"
        case .texts(let texts): texts.joined(separator: " ")
        }
    }

    fileprivate var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .integer(let number): .integer(number)
        case .boolean(let flag): .bool(flag)
        case .texts(let texts): .array(texts.map { .string($0) })
        }
    }
}
