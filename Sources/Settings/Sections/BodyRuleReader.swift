import JSON
import Policy
import YAML

/// Declares `body_rules` of a route.
enum BodyRuleReader {
    /// The most rules of a route. Each name in a body is compared with each of them.
    private static let countMax = 16
    private static let numbers = 0...9_007_199_254_740_991
    private static let numberReason = "JSON's whole numbers end there"

    static var kind: Kind<[BodyRule]> {
        Kind<[BodyRule]>.list(
            .section(form, check: check), by: \.pointer, empty: "is empty: leave it out",
            twice: { "there is a rule for \($0.pointer) already" }
        ).checked { field, rules in
            if rules.count > countMax { field.error("has more than \(countMax) rules") }
        }
    }

    private static var form: Form<BodyRule> {
        let number = Kind<Int>.count(numbers, numberReason)
        return Form(BodyRule(pointer: JSONPointer(name: []))) {
            Setting(
                "json", \.pointer, .pointer, required: true, standard: "",
                "The member by RFC 6901: /model, /messages/0/role.")
            Setting(
                "in", \.values, Kind<[BodyRule.Value]>.list(value, empty: "is empty").unlessEmpty,
                "What it may be. A number in quotes is a text.")
            Setting("min", optional: \.min, number, "The smallest number. If left out, 0.")
            Setting("max", optional: \.max, number, "The largest number.")
            Setting(
                "required", optional: \.required, .trueFalse,
                "Whether it must be there. If left out: true with in, else false.")
        }
    }

    private static func check(_ section: inout Section, _ rule: inout BodyRule) {
        if section.field("in") != nil {
            section.refuse(["min", "max"], "is used without in only")
        } else if section.field("min") == nil, section.field("max") == nil {
            section.error("needs in, or min and max")
            section.fail()
        } else if let max = rule.max, max < rule.min ?? 0 {
            section.field("max")?.error("is less than min")
        }
    }

    private static var value: Kind<BodyRule.Value> {
        Kind(.either([.text("text"), .number(numbers, numberReason)])) { field in
            guard let text = field.text() else { return nil }
            guard case .scalar(_, isPlain: true) = field.node.kind else { return .text(text.value) }
            if let number = Quantity.count(text.value), numbers.contains(number) {
                return .number(number)
            }
            let isOther =
                JSONNumber(text.value) != nil || Quantity.count(text.value) != nil
                || ["true", "false", "null"].contains(text.value)
            guard !isOther else {
                field.error("\(text.shown) is not a text or whole number: quote it if it is a text")
                return nil
            }
            return .text(text.value)
        } yaml: { value in
            switch value {
            // In quotes, because it may look like a number.
            case .text(let text): .source(text.replacing("${", with: "$${"))
            case .number(let number): .scalar("\(number)")
            }
        }
    }
}

extension Kind where Value == JSONPointer {
    /// A pointer to a member of a JSON body.
    static var pointer: Kind {
        Kind(.text("JSON Pointer", pattern: "^/"), text: \.description) { text throws(Fault) in
            guard let pointer = JSONPointer(text), pointer.tokenCount > 0 else {
                throw Fault("is not a JSON Pointer to a member: write one like /model")
            }
            // Servers differ in the spellings that they take for one name outside ASCII.
            let isPrintable = text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            guard text.utf8.count <= 128, isPrintable else {
                throw Fault("is longer than 128 bytes, or not printable ASCII")
            }
            guard pointer.tokenCount <= JSONScanner.depthLimit else {
                throw Fault("leads deeper than \(JSONScanner.depthLimit) levels")
            }
            return pointer
        }
    }
}
