extension ChallengeSettings {
    static var form: Form<ChallengeSettings> {
        Form(ChallengeSettings()) {
            Setting(
                "ttl", \.timeToLive,
                .duration(
                    .seconds(1), .seconds(3600), "a spent challenge is remembered for as long"),
                "The lifetime of an assertion challenge.")
            Setting(
                "attestation_ttl", \.attestationTimeToLive,
                .duration(
                    .seconds(60), .seconds(72 * 3600),
                    "Apple wants the same hash retried, and an old challenge proves nothing"),
                "The lifetime of an attestation challenge. If Apple's service fails, an app "
                    + "retries with the same hash, perhaps much later.")
        }
    }
}

extension SecretSettings {
    static var form: Form<SecretSettings> {
        Form(SecretSettings()) {
            Setting(
                "challenge_key_file", optional: \.challengeKeyFile, .path,
                "The keys that seal challenges: the base64 of 32 bytes on each line. The first "
                    + "seals; the others still open. To rotate, put a new key on top and send "
                    + "SIGHUP; remove the old one after challenge.attestation_ttl. If left out, a "
                    + "key is made beside the registry.")
            Setting(
                "pseudonym_key_file", optional: \.pseudonymKeyFile, .path,
                "The secret behind the names of keys in the log, in the same form. The first line "
                    + "makes them, and `sallyport keys list --pseudonym` knows those of the "
                    + "others. If left out, it is made beside the registry, or with PostgreSQL "
                    + "derived from the challenge keys.")
        }
    }
}

/// Reads `session_tokens`.
struct SessionTokenReader {
    let headers: HeaderNames

    var form: Form<SessionTokenSettings> {
        Form(SessionTokenSettings()) {
            Setting(
                "ttl", \.timeToLive,
                .duration(
                    .seconds(10), .seconds(3600),
                    "until then anyone who holds a token can use it, as often as they like"),
                "How long a token lasts.")
            Setting(
                "bind_to", optional: \.boundHeader, .header(rule, tellsUsersApart),
                "A header whose value must stay the same, so that another user cannot use the "
                    + "token.")
        }
    }

    private var rule: String {
        "tells no user from another: name what your API knows them by, as Authorization or Cookie"
    }

    /// True if a header can tell users apart: it does not carry the proof, is not about the
    /// connection, and is not written by the gateway.
    private func tellsUsersApart(_ folded: String) -> Bool {
        HeaderEditReader.request.allows(folded)
            && !headers.all.contains { HeaderReader.fold($0) == folded }
    }
}

extension DeveloperTokenSettings {
    static var form: Form<DeveloperTokenSettings> {
        Form(DeveloperTokenSettings()) {
            Setting(
                "max_ttl", \.lifeMax,
                .duration(
                    .seconds(60), .seconds(365 * 24 * 3600),
                    "a forgotten token must expire by itself"),
                "The longest lifetime, checked when a token is made and when it is used.")
            Setting(
                "revoked", \.revoked, .list(.name),
                "Names and ids of revoked tokens.")
        }
    }
}

extension EndpointSettings {
    static var form: Form<EndpointSettings> {
        Form(EndpointSettings()) {
            Setting(
                "base", \.base, base,
                "The path of the endpoints. /.well-known/app-attest, which tells clients this "
                    + "path, is at the root of every host. Other paths below /.well-known/ go to "
                    + "routes.")
            Setting(
                "body_max", \.bodyByteCountMax,
                .byteCount(
                    12 * .kibibyte ... .mebibyte,
                    "an attestation is about 6KiB, 8KiB as base64, and is held in memory"),
                "The longest body of POST attest/verify.")
            Setting(
                "rate_limit", group: rateLimits,
                "Rate limits of the endpoints, or off. The built-in ones protect both.")
            Setting(
                attestRolloutName, \.attestRollout, RolloutReader.attestRollout,
                "The share of installations that get a challenge at attest/challenge, told apart "
                    + "by ?installation=, else by ?key_id=, else by address. The others get 429 "
                    + "rate_limited.")
        }
    }

    private static var rateLimits: Form<EndpointSettings> {
        Form(EndpointSettings()) {
            Setting(
                "challenge", \.challengeRateLimits, .rateLimits(),
                "Limits of attest/challenge, attest/failure, assert/challenge, assert/token and "
                    + "/.well-known/app-attest.")
            Setting(
                "attestation_challenge", optional: \.attestationChallengeRateLimits, .rateLimits(),
                "Limits of attest/challenge alone. Apple throttles attestations over all "
                    + "installations of an app, so a limit by: global belongs here.")
            Setting(
                "attestation", \.attestationRateLimits, .rateLimits(),
                "Limits of attest/verify.")
        }
    }

    private static var base: Kind<String> {
        Kind(.text("path"), text: \.self) { text throws(Fault) in
            try RoutePath.normalForm(of: text.hasSuffix("/") ? text : text + "/")
        }
    }
}
