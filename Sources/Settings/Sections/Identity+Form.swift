import Crypto

extension IdentitySettings {
    static var form: Form<IdentitySettings> {
        Form(IdentitySettings()) {
            Setting(
                "keys", \.keys, .list(keyFile, empty: "is empty: the first key signs"),
                required: true,
                "Unencrypted private keys on P-256, in PEM. The first signs; identity/jwks.json "
                    + "serves the public halves of all. To rotate, add a new key last, move it to "
                    + "the front after 5m, and remove the old one an hour later.")
            Setting("issuer", \.issuer, .claim, "The claim iss.")
            Setting(
                "subject", \.subject, .word,
                "The claim sub: the key id, or its pseudonym in the log.")
            Setting(
                "tokens", \.tokenCountMax,
                .count(1024...1_000_000, "each token that is kept takes about 1KiB"),
                "Tokens kept to be sent again.")
        }
    }

    private static var keyFile: Kind<KeyFile> {
        Kind(.path) { field in
            field.secretFile { path, bytes throws(Fault) in
                // The message shows no part of the file.
                guard let key = try? P256PrivateKey(pem: bytes) else {
                    throw Fault("is not an unencrypted private key on P-256 in PEM")
                }
                return KeyFile(path: path, key: key)
            }
        } yaml: {
            .text($0.path)
        }
    }
}

extension UpstreamIdentity {
    static var form: Form<UpstreamIdentity> {
        Form(UpstreamIdentity(audience: [])) {
            Setting(
                "audience", \.audience, .list(.claim, empty: "is empty: a token needs an audience"),
                required: true, "The claim aud.")
            Setting(
                "header", \.header, header,
                "The header with the token.")
            Setting(
                "ttl", \.timeToLive,
                .duration(
                    .seconds(10), .seconds(3600),
                    "until then anyone who holds a token can show it to this upstream"),
                "A token's lifetime.")
            Setting(
                "per", \.scope, .word,
                "key: one token for all requests of a key while it is valid. request: a token that "
                    + "names the request, at the cost of a signature.")
        }
    }

    /// The name of the token's header. Its prefix has the header removed from requests of clients.
    private static var header: Kind<String> {
        Kind(.text("header name that begins with X-Attest-"), text: \.self) { text throws(Fault) in
            let name = text.lowercased()
            guard HeaderReader.isName(name), name.hasPrefix("x-attest-"),
                !taken.contains(HeaderReader.fold(name))
            else {
                throw Fault(
                    "is not a name of its own that begins with X-Attest-: only such headers are "
                        + "removed from what clients send")
            }
            return name
        }
    }

    /// The headers that verified requests carry beside it.
    private static let taken: Set<String> = [
        "x-attest-result", "x-attest-key", "x-attest-app", "x-attest-environment",
        "x-attest-tier", "x-attest-risk", "x-attest-version", "x-attest-category",
        "x-attest-outdated", "x-attest-developer", "x-attest-proof", "x-attest-signals",
        "x-attest-user-keys",
        "x-attest-address-keys",
        "x-attest-address-attestations", "x-attest-key-conflicts", "x-attest-key-users",
        "x-attest-key-addresses", "x-attest-key-networks", "x-attest-counter-gaps",
    ]
}

extension Kind where Value == String {
    /// A text that is put into a claim unchanged.
    static var claim: Kind {
        let form = "1 to 256 printable characters without spaces"
        return text(.text(form), "is not \(form)") { $0.utf8.count <= 256 && $0.isVisible }
    }
}
