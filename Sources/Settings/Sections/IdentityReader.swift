import Crypto

/// Reads `identity`, and that of an upstream.
enum IdentityReader {
    static func identity(_ field: Field) -> IdentitySettings? {
        field.section { section in
            var identity = IdentitySettings()
            if let field = section.required("keys"), let keys = field.list(keyFile) {
                identity.keys = keys
                if keys.isEmpty { field.error("is empty: the first key signs") }
            }
            section.set("issuer", &identity.issuer) { claim($0) }
            section.set("subject", &identity.subject) { $0.choice(IdentitySettings.Subject.self) }
            section.set("tokens", &identity.tokenCountMax) {
                $0.count(1024...1_000_000, "each token that is kept takes about 1KiB")
            }
            return identity
        }
    }

    private static func keyFile(_ field: Field) -> IdentitySettings.KeyFile? {
        guard let (path, bytes) = field.fileContents() else { return nil }
        do throws(CryptoError) {
            _ = try P256PrivateKey(pem: bytes)
            return IdentitySettings.KeyFile(path: path, pem: bytes)
        } catch {
            // Nothing of the file is shown.
            field.error("\"\(path)\" is not an unencrypted private key on P-256 in PEM")
            return nil
        }
    }

    static func upstream(_ field: Field) -> UpstreamIdentity? {
        field.section { section in
            var identity = UpstreamIdentity(audience: [])
            if let field = section.required("audience"), let audience = field.list(claim) {
                identity.audience = audience
                if audience.isEmpty { field.error("is empty: a token is for somebody") }
            }
            section.set("header", &identity.header, header)
            section.set("ttl", &identity.timeToLive) {
                $0.duration(
                    .seconds(10), .seconds(3600),
                    "until then whoever has a token can show it to this upstream")
            }
            section.set("per", &identity.scope) { $0.choice(UpstreamIdentity.Scope.self) }
            return identity
        }
    }

    /// What stands in a claim as it is.
    private static func claim(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        guard text.value.utf8.count <= 256,
            text.value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            field.error("\(text.shown) is not 1 to 256 printable characters without spaces")
            return nil
        }
        return text.value
    }

    /// Removed from what clients send, as all that begins so.
    private static func header(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        let name = text.value.lowercased()
        guard HeaderReader.isName(name), name.hasPrefix("x-attest-"),
            !taken.contains(HeaderReader.fold(name))
        else {
            field.error(
                "\(text.shown) is not a name of its own that begins with X-Attest-: only such "
                    + "headers are removed from what clients send")
            return nil
        }
        return name
    }

    /// What verified requests carry beside it.
    private static let taken: Set<String> = [
        "x-attest-result", "x-attest-key", "x-attest-app", "x-attest-environment",
        "x-attest-tier", "x-attest-risk", "x-attest-version", "x-attest-category",
        "x-attest-outdated", "x-attest-developer", "x-attest-signals", "x-attest-user-keys",
        "x-attest-address-keys",
        "x-attest-address-attestations", "x-attest-key-conflicts",
    ]
}
