import EventLoop
import HTTP
import Policy
import Settings

/// The treatment of a route's requests beside the check of their proof, ready for the request path.
/// Most routes only forward, and have none.
final class RouteHandling: Sendable {
    let answer: RouteAnswer?
    let rewrite: TargetRewrite?
    /// The Host that replaces the client's; nil to keep that.
    let upstreamHost: [UInt8]?
    let requestEdits: FieldEdits?
    let responseEdits: FieldEdits?
    let bodyRules: BodyRules?
    let quotas: RouteQuotas?
    /// True if bodies are sent on as they come.
    let streamsBody: Bool
    let onClientClose: ClientCloseAction
    let bodyMemoryByteCountMax: Int?
    /// The time for a whole request; zero means no bound.
    let requestNanoseconds: UInt64?
    let requestBodyNanoseconds: UInt64?
    let responseNanoseconds: UInt64?
    let readNanoseconds: UInt64?

    init?(_ route: Route, _ settings: Settings) {
        answer = route.answer
        rewrite = TargetRewrite(route)
        upstreamHost =
            switch route.upstreamHost {
            case .preserve: nil
            case .upstream:
                route.upstream.flatMap { settings.upstreams[$0].commonHost }.map { Array($0.utf8) }
            case .name(let name): Array(name.utf8)
            }
        requestEdits = FieldEdits(
            route.requestHeaders, withholding: route.requestHeaders.withheldNames)
        responseEdits = FieldEdits(route.responseHeaders, withholding: [])
        bodyRules = BodyRules(route)
        quotas = RouteQuotas(route, settings)
        streamsBody = route.streamsBody
        onClientClose = route.onClientClose
        let overrides = route.overrides
        bodyMemoryByteCountMax = overrides.bodyMemoryByteCountMax
        requestNanoseconds = overrides.requestTimeout?.wholeNanoseconds
        requestBodyNanoseconds = overrides.requestBodyTimeout?.wholeNanoseconds
        responseNanoseconds = overrides.responseTimeout?.wholeNanoseconds
        readNanoseconds = overrides.readTimeout?.wholeNanoseconds
        let isPlain =
            answer == nil && rewrite == nil && upstreamHost == nil && requestEdits == nil
            && responseEdits == nil && bodyRules == nil && quotas == nil && !streamsBody
            && onClientClose == .finish
            && overrides == RouteOverrides()
        if isPlain { return nil }
    }

    /// True if the route must know which bytes of the target its pattern covers.
    var cutsTarget: Bool {
        if rewrite != nil { return true }
        guard case .redirect(let redirect)? = answer else { return false }
        return redirect.location.pieces.contains(.variable(.rest))
    }
}

/// The headers that a route removes and adds.
struct FieldEdits: Sendable {
    /// The names that are removed, in every spelling, including those that are set anew and those
    /// of credentials that clients may not send.
    let removed: FieldNameSet
    let lines: [(name: [UInt8], value: TextTemplate)]

    init?(_ edits: HeaderEdits, withholding withheld: [String]) {
        guard !edits.isEmpty else { return nil }
        removed = FieldNameSet(
            exact: edits.remove + edits.set.map(\.name) + withheld, prefixes: [])
        lines = (edits.set + edits.add).map { (Array($0.name.utf8), $0.value) }
    }
}
