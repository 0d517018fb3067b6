import HTTP
import Settings

/// The names of headers that the gateway reads or keeps to itself, ready to be compared.
struct SiteFieldNames: Sendable {
    /// Every request header that is ours to set: removed from what clients send.
    let reserved: FieldNameSet
    /// What upstreams may not send to apps.
    let reservedInResponses: FieldNameSet
    let assertion: FieldNameSet
    let clientData: FieldNameSet
    let keyID: FieldNameSet
    let token: FieldNameSet
    let deviceCheck: FieldNameSet

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
    }
}
