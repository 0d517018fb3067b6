/// Names that the operator gives to routes and upstreams: labels of metrics, members of log lines.
enum Name {
    static let rule = "is not a name: 1 to 64 letters, digits, periods, hyphens and underscores"

    static var shape: Shape { .text("name", pattern: "^[A-Za-z0-9._-]{1,64}$") }

    static func isValid(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isLetterOrDigit || $0.isOne(of: "._-") }
    }
}
