import HTTP
import Settings

/// The names of headers that the gateway reads or keeps to itself, ready to be compared. Exchanges
/// refer to them.
final class SiteFieldNames: Sendable {
    /// Every request header that is ours to set: removed from what clients send.
    let reserved: FieldNameSet
    /// What upstreams may not send to apps.
    let reservedInResponses: FieldNameSet
    let assertion: FieldNameSet
    let clientData: FieldNameSet
    let keyID: FieldNameSet
    let token: FieldNameSet
    let deviceCheck: FieldNameSet
    /// In any spelling: what says who forwarded a request.
    let forwarding: FieldNameSet
    /// In any spelling: what asks for another method or target.
    let overriding: FieldNameSet

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
    }

    private static let overriding = [
        "x-http-method", "x-http-method-override", "x-method-override", "x-original-url",
        "x-rewrite-url",
    ]
    /// The plain spellings of ``overriding``.
    static let overridingNames = overriding.map { Array($0.utf8) }
}
