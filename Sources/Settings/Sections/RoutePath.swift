import HTTP
import Policy

/// Reads paths as the configuration writes them.
enum RoutePath {
    static var kind: Kind<PathPattern> {
        Kind(.text("path, or path/*", pattern: "^/"), text: text) { text throws(Fault) in
            guard !isRegularExpression(text) else {
                throw Fault(
                    "is a regular expression, and paths are none: write \"/api\" for one path, or "
                        + "\"/api/*\" for it and everything below it")
            }
            let isPrefix = text.hasSuffix("/*")
            let path = isPrefix ? String(text.dropLast()) : text
            guard !path.contains("*") else {
                let isMeant = path.firstIndex(of: "*") == path.indices.last
                throw Fault(
                    "has a * other than in a final /*"
                        + (isMeant ? ": write \(quoted(path.dropLast() + "/*"))" : "")
                        + "; write a literal one as %2A")
            }
            let normal = try normalForm(of: path)
            return isPrefix ? .prefix(normal) : .exact(normal)
        }
    }

    /// True if the text looks like a regular expression as other proxies take them.
    private static func isRegularExpression(_ text: String) -> Bool {
        text.hasPrefix("~") || text.hasPrefix("^") || text.contains(".*")
    }

    /// The path as the configuration writes it. A * in the path itself must not be read as the
    /// pattern's.
    static func text(_ pattern: PathPattern) -> String {
        switch pattern {
        case .exact(let path): path.replacing("*", with: "%2A")
        case .prefix(let path): path.replacing("*", with: "%2A") + "*"
        }
    }

    /// The form in which requests are compared.
    static func normalForm(of path: String) throws(Fault) -> String {
        guard path.hasPrefix("/") else { throw Fault("does not begin with a /") }
        guard path.utf8.count <= 1024 else { throw Fault("is longer than 1024 bytes") }
        do throws(HTTPFault) {
            return String(
                decoding: try TargetPath.normalize(pattern: Array(path.utf8)), as: UTF8.self)
        } catch {
            throw Fault("is not a path that a request can have: \(error.code)")
        }
    }
}
