import Crypto

extension IdentitySettings {
    static var form: Form<IdentitySettings> {
        Form(IdentitySettings()) {
            Setting(
                "keys", .list(.path), required: true,
                "Private keys on P-256 in PEM, unencrypted. The first signs; the public halves of "
                    + "all are at identity/jwks.json."
            ) { section, identity in
                if let field = section.required("keys"), let keys = field.list(keyFile) {
                    identity.keys = keys
                    if keys.isEmpty { field.error("is empty: the first key signs") }
                }
            } write: { identity, yaml in
                yaml.entry("keys", list: identity.keys.map(\.path))
            }
            Setting("issuer", \.issuer, .claim, "The claim iss.")
            Setting(
                "subject", \.subject, .word,
                "What the claim sub holds: the key id, or its pseudonym as in the log.")
            Setting(
                "tokens", \.tokenCountMax,
                .count(1024...1_000_000, "each token that is kept takes about 1KiB"),
                "Tokens that are kept to be sent again.")
        }
    }

    private static func keyFile(_ field: Field) -> KeyFile? {
        guard let (path, bytes) = field.fileContents() else { return nil }
        do throws(CryptoError) {
            _ = try P256PrivateKey(pem: bytes)
            return KeyFile(path: path, pem: bytes)
        } catch {
            // Nothing of the file is shown.
            field.error("\"\(path)\" is not an unencrypted private key on P-256 in PEM")
            return nil
        }
    }
}

extension UpstreamIdentity {
    static var form: Form<UpstreamIdentity> {
        Form(UpstreamIdentity(audience: [])) {
            Setting(
                "audience", .list(Kind<String>.claim.shape), required: true, "The claim aud."
            ) { section, identity in
                if let field = section.required("audience"),
                    let audience = field.list(Kind<String>.claim.read)
                {
                    identity.audience = audience
                    if audience.isEmpty { field.error("is empty: a token is for somebody") }
                }
            } write: { identity, yaml in
                yaml.entry("audience", list: identity.audience)
            }
            Setting(
                "header", \.header, .text(.text("header name that begins with X-Attest-"), header),
                "The header that carries the token.")
            Setting(
                "ttl", \.timeToLive,
                .duration(
                    .seconds(10), .seconds(3600),
                    "until then whoever has a token can show it to this upstream"),
                "How long a token is good.")
            Setting(
                "per", \.scope, .word,
                "key: one token for all requests of a key while it is good. request: one for each, "
                    + "which names it and costs a signature.")
        }
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

extension Kind where Value == String {
    /// What stands in a claim as it is.
    static var claim: Kind {
        text(.text("1 to 256 printable characters without spaces")) { field in
            guard let text = field.text() else { return nil }
            guard text.value.utf8.count <= 256,
                text.value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                field.error("\(text.shown) is not 1 to 256 printable characters without spaces")
                return nil
            }
            return text.value
        }
    }
}
