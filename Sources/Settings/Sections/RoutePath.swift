import HTTP
import Policy

/// Reads paths as the configuration writes them.
enum RoutePath {
    static var kind: Kind<PathPattern> {
        Kind(.text("path, or path/*", pattern: "^/"), text: text) { text throws(Fault) in
            let isPrefix = text.hasSuffix("/*")
            let path = isPrefix ? String(text.dropLast()) : text
            guard !path.contains("*") else {
                throw Fault("has a * other than in a final /*; write a literal one as %2A")
            }
            let normal = try normalForm(of: path)
            return isPrefix ? .prefix(normal) : .exact(normal)
        }
    }

    /// The path as the configuration writes it. A * of the path itself must not be taken for the
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
