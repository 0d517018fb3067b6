import JSON
import Policy
import Settings

/// The quotas of a route, ready for the request path.
final class RouteQuotas: Sendable {
    let quotas: [Quota]
    /// The header for each quota in which the upstream is told what is left; empty if it is not.
    let remainingNames: [[UInt8]]
    /// The places of the numbers that are read from answers.
    let pointers: [JSONPointer]

    /// Nil if the route has no quotas.
    init?(_ route: Route, _ settings: Settings) {
        quotas = route.quotas.compactMap { name in
            settings.quotas.first { $0.name == name }
        }
        guard !quotas.isEmpty else { return nil }
        remainingNames =
            route.tellsQuotas
            ? quotas.map { Array("X-Attest-Quota-\($0.name)-Remaining".utf8) } : []
        pointers = quotas.compactMap { quota in
            if case .json(let pointer) = quota.measure { pointer } else { nil }
        }
    }

    /// True if numbers are read from answers.
    var readsJSON: Bool { !pointers.isEmpty }
}
