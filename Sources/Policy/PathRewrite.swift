/// What a route makes of the path before it goes upstream; the query stays.
public enum PathRewrite: Hashable, Sendable {
    /// Stands in place of a prefix pattern; ends in `/`.
    case prefix(String)
    /// Stands in place of an exact pattern's path.
    case path(String)
}

extension Route {
    /// What goes upstream for `path`, which is in normal form; nil where that is `path` itself, or
    /// the route's pattern does not cover it.
    func rewrittenPath(_ path: [UInt8]) -> [UInt8]? {
        switch (self.path, rewrite) {
        case (.prefix(let pattern), .prefix(let replacement)?):
            let prefix = Array(pattern.utf8)
            if path == Array(prefix.dropLast()) { return Self.withoutSlash(replacement) }
            guard path.starts(with: prefix) else { return nil }
            return Array(replacement.utf8) + path.dropFirst(prefix.count)
        case (.exact(let pattern), .path(let replacement)?):
            let isCovered = Self.withoutSlash(pattern) == Self.withoutSlash(path)
            return isCovered ? Array(replacement.utf8) : nil
        default: return nil
        }
    }

    /// A path that is rewritten to `path`; nil where there is none.
    func origin(ofRewritten path: [UInt8]) -> [UInt8]? {
        switch (self.path, rewrite) {
        case (.prefix(let pattern), .prefix(let replacement)?):
            let prefix = Array(replacement.utf8)
            if prefix.count > 1, path == prefix.dropLast() { return Self.withoutSlash(pattern) }
            guard path.starts(with: prefix) else { return nil }
            return Array(pattern.utf8) + path.dropFirst(prefix.count)
        case (.exact(let pattern), .path(let replacement)?):
            return path == Array(replacement.utf8) ? Array(pattern.utf8) : nil
        default: return nil
        }
    }

    private static func withoutSlash(_ path: String) -> [UInt8] { withoutSlash(Array(path.utf8)) }

    private static func withoutSlash(_ path: [UInt8]) -> [UInt8] {
        path.count > 1 && path.last == 0x2F ? Array(path.dropLast()) : path
    }
}
