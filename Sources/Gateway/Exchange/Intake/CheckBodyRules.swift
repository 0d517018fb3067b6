import Bytes
import HTTP
import JSON
import Judgement
import Policy

/// A search in one body while it comes. It is an object, because most requests have none and forget
/// a reference sooner than a scanner.
final class BodySearch {
    var scanner: JSONScanner

    init(_ scanner: JSONScanner) { self.scanner = scanner }
}

/// The check of one body against its route's rules, which reads the body while it comes.
final class BodyRuleCheck {
    let rules: BodyRules
    var scanner: JSONScanner

    init(_ rules: BodyRules) {
        self.rules = rules
        scanner = rules.makeScanner()
    }
}

/// Rules for the JSON body. A body that the upstream could read in another way than the gateway
/// does is refused.
extension RequestIntake {
    /// Has the body compared with the rules while it comes.
    func expectBody(keeping rules: BodyRules) { state.bodyRules = BodyRuleCheck(rules) }

    /// Refuses a body that breaks a rule. The body is complete.
    func checkBodyRules(_ check: BodyRuleCheck) throws(Refusal) {
        switch checkCall.question?.body {
        case nil, .shown: break
        case .hidden, .claimed, .hashed:
            throw Refusal(
                .bodyUnavailable, .bodyHidden,
                explanation: "The proxy in front does not show the body, which has to be checked.")
        }
        guard announcesPlainJSON else {
            throw Refusal(
                .bodyRefused, .bodyMediaType,
                explanation: "The body must be application/json in UTF-8, without a coding.")
        }
        let findings: JSONFindings
        do throws(JSONError) {
            findings = try check.scanner.finish()
        } catch {
            throw Refusal(
                .bodyRefused, .bodyIsNotJSON,
                explanation: "The body must be one JSON object.")
        }
        for (rule, member) in zip(check.rules.rules, findings.members)
        where !rule.allows(member) {
            throw Refusal(
                .bodyRefused, .bodyRule(pointer: rule.pointer.description),
                explanation: "A member of the JSON body is not one that is allowed here.")
        }
    }

    /// True if the head says, once and in the usual spelling, that the body is JSON in UTF-8. By
    /// another charset or content coding, an upstream would read other members.
    private var announcesPlainJSON: Bool {
        let bytes = headBytes.span
        var isJSON = false
        for field in head.fields {
            let name = bytes.extracting(field.name)
            if Self.contentEncoding.contains(name) { return false }
            guard Self.contentType.contains(name) else { continue }
            guard !isJSON, field.known == .contentType,
                Self.isPlainJSON(bytes.extracting(field.value))
            else { return false }
            isJSON = true
        }
        return isJSON
    }

    private static let contentType = FieldNameSet(exact: ["content-type"], prefixes: [])
    private static let contentEncoding = FieldNameSet(exact: ["content-encoding"], prefixes: [])

    /// True for `application/json`, alone or with `charset=utf-8`.
    private static func isPlainJSON(_ value: Span<UInt8>) -> Bool {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let parts = ASCII.lowercased(value)
            .split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { part in
                let end = part.lastIndex { !isSpace($0) }.map { part.index(after: $0) }
                return String(
                    decoding: part[..<(end ?? part.startIndex)].drop(while: isSpace), as: UTF8.self)
            }
        switch parts.count {
        case 1: return parts[0] == "application/json"
        case 2:
            return parts[0] == "application/json"
                && ["charset=utf-8", "charset=\"utf-8\""].contains(parts[1])
        default: return false
        }
    }
}
