import Bytes
import HTTP
import Judgement
import Settings

/// The client's headers that a proxy must remove before it forwards a request.
/// ``HeadRewriter/rewriteHeaders()`` leaves them out of a request that the gateway forwards.
extension CheckCall {
    /// The names of those headers in the request, except those in `set`. Of the headers that say
    /// who forwarded the request, the proxy's own stay.
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

    /// The names of the headers that Envoy has to remove. They include those that ask for another
    /// method or path, which Envoy may not have shown.
    func namesForEnvoyToRemove(besides set: [[UInt8]]) -> [[UInt8]] {
        let shown = namesToRemove(besides: set)
        return shown + SiteFieldNames.overridingNames.filter { !shown.contains($0) }
    }

    /// Refuses a question if its proxy left such a header in the request and cannot be told to
    /// remove it. The gateway's headers and the proxy's own may be there under their plain names,
    /// because the proxy overwrites them.
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
            if names.quotas.contains(name) {
                throw Refusal(
                    .badRequest, .checkUnwanted,
                    explanation: """
                        A header has the name of one by which the gateway tells what is left of a \
                        quota. The proxy has to remove it before it asks.
                        """)
            }
            guard names.reserved.contains(name) || names.forwarding.contains(name),
                rewriter.isDisguised(name), !isConfigured(name)
            else { continue }
            throw Self.disguised
        }
    }

    /// The refusal for a header that some APIs take for another one.
    static let disguised = Refusal(
        .badRequest, .checkUnwanted,
        explanation: """
            The name of a header is another spelling of one that only the proxy or the gateway \
            sets, as X_Forwarded_For and X.Attest.Result are. The proxy has to remove it before \
            it asks.
            """)

    /// True if the settings name a header in exactly this spelling.
    private func isConfigured(_ name: Span<UInt8>) -> Bool {
        site.settings.headers.all.contains {
            ASCII.equalsIgnoringCase(name, lowercase: Array($0.utf8))
        }
    }
}
