import Bytes
import HTTP
import Judgement
import Settings

/// Headers of the client that whoever forwards a request must take out of it, as
/// ``Exchange/rewriteHeaders()`` leaves them out of a request that the gateway forwards.
extension CheckCall {
    /// The names of those that are there. Of the headers that say who forwards the request, the
    /// proxy's own stay. None that is `set` is among them.
    func namesToRemove(besides set: [[UInt8]]) -> [[UInt8]] {
        let bytes = headBytes.span
        let names = site.fieldNames
        var known = Set(set.map { ASCII.lowercased($0.span) })
        var found: [[UInt8]] = []
        for field in head.fields {
            let name = bytes.extracting(field.name)
            let isUnwanted =
                names.reserved.contains(name) || names.overriding.contains(name)
                || names.forwarding.contains(name) && rewriter.isDisguised(name)
            guard isUnwanted else { continue }
            let folded = ASCII.lowercased(name)
            if known.insert(folded).inserted { found.append(folded) }
        }
        return found
    }

    /// The names of those that Envoy is to take out: also of those that ask for another method or
    /// path and are not shown, as Envoy may be set.
    func namesForEnvoyToRemove(besides set: [[UInt8]]) -> [[UInt8]] {
        let shown = namesToRemove(besides: set)
        return shown + SiteFieldNames.overridingNames.filter { !shown.contains($0) }
    }

    /// Refuses a question whose proxy has left in the request what it was to take out, and cannot
    /// be told to. The plain names of the gateway's headers and of those that a proxy writes may
    /// be there: what the proxy sets stands in their place.
    func refuseUnwanted() throws(Refusal) {
        let bytes = headBytes.span
        let names = site.fieldNames
        for field in head.fields {
            let name = bytes.extracting(field.name)
            if names.overriding.contains(name) {
                throw Refusal(
                    .badRequest, .checkUnwanted,
                    explanation: """
                        A header asks the API for another method or path, as \
                        X-HTTP-Method-Override or X-Original-URL does. The proxy has to remove it \
                        before it asks.
                        """)
            }
            guard names.reserved.contains(name) || names.forwarding.contains(name),
                rewriter.isDisguised(name), !isConfigured(name)
            else { continue }
            throw Self.disguised
        }
    }

    /// A header that some API takes for another one.
    static let disguised = Refusal(
        .badRequest, .checkUnwanted,
        explanation: """
            The name of a header is another spelling of one that only the proxy or the gateway \
            sets, as X_Forwarded_For and X.Attest.Result are. The proxy has to remove it before \
            it asks.
            """)

    /// Whether the settings name a header just so.
    private func isConfigured(_ name: Span<UInt8>) -> Bool {
        site.settings.headers.all.contains {
            ASCII.equalsIgnoringCase(name, lowercase: Array($0.utf8))
        }
    }
}
