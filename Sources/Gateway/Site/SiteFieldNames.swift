import HTTP
import Settings

/// The names of headers that the gateway reads or reserves, ready to be compared. Exchanges refer
/// to them.
final class SiteFieldNames: Sendable {
    /// Every request header that only the gateway sets: removed from clients' requests.
    let reserved: FieldNameSet
    /// The headers that upstreams may not send to apps.
    let reservedInResponses: FieldNameSet
    let assertion: FieldNameSet
    let clientData: FieldNameSet
    let keyID: FieldNameSet
    let token: FieldNameSet
    let deviceCheck: FieldNameSet
    /// The headers that say who forwarded a request, in any spelling.
    let forwarding: FieldNameSet
    /// The headers that ask for another method or target, in any spelling.
    let overriding: FieldNameSet
    /// The headers with the name of a quota, which no proxy's configuration lists.
    let quotas: FieldNameSet

    init(_ settings: Settings) {
        let names = settings.headers
        reserved = FieldNameSet(exact: names.all, prefixes: ["x-app-attest-", "x-attest-"])
        reservedInResponses = FieldNameSet(
            exact: ["x-app-attest-action", "x-app-attest-challenge"]
                + settings.signals.headersForGateway, prefixes: [])
        assertion = FieldNameSet(exact: [names.assertion], prefixes: [])
        clientData = FieldNameSet(exact: [names.clientData], prefixes: [])
        keyID = FieldNameSet(exact: [names.keyID], prefixes: [])
        token = FieldNameSet(exact: [names.token], prefixes: [])
        deviceCheck = FieldNameSet(exact: [names.deviceCheck], prefixes: [])
        forwarding = FieldNameSet(
            exact: ["forwarded", "x-real-ip", "x-request-id"], prefixes: ["x-forwarded-"])
        overriding = FieldNameSet(exact: Self.overriding, prefixes: [])
        quotas = FieldNameSet(exact: [], prefixes: ["x-attest-quota-"])
    }

    /// True if a trailer of this name may go to the upstream. The gateway has named the client and
    /// its proof in the head.
    func mayTrail(_ name: Span<UInt8>) -> Bool {
        !reserved.contains(name) && !forwarding.contains(name) && !overriding.contains(name)
            && KnownField(foldingUnderscores: name).mayTrail
    }

    private static let overriding = [
        "x-http-method", "x-http-method-override", "x-method-override", "x-original-url",
        "x-rewrite-url",
    ]
    /// The plain spellings of ``overriding``.
    static let overridingNames = overriding.map { Array($0.utf8) }
}
