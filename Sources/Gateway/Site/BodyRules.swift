import JSON
import Policy

/// The rules of a route for the JSON body, ready for the request path.
final class BodyRules: Sendable {
    let rules: [BodyRule]
    /// The longest text that a rule allows, in bytes. A longer one is none of those allowed.
    private let textByteCountMax: Int

    /// Nil if the route has no rules.
    init?(_ route: Route) {
        guard !route.bodyRules.isEmpty else { return nil }
        rules = route.bodyRules
        textByteCountMax = route.bodyRules.flatMap(\.values).reduce(0) { longest, value in
            if case .text(let text) = value { max(longest, text.utf8.count) } else { longest }
        }
    }

    /// A scanner for one body. It goes as deep as it can, because nested tools and schemas are
    /// usual in requests to AI services.
    func makeScanner() -> JSONScanner {
        var search = JSONScanner.Search(
            pointers: rules.map(\.pointer), stringByteCountMax: textByteCountMax)
        search.isSpellingStrict = true
        return JSONScanner(search, depthMax: JSONScanner.depthLimit)
    }
}
