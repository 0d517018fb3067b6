extension ChallengeSettings {
    static var form: Form<ChallengeSettings> {
        Form(ChallengeSettings()) {
            Setting(
                "ttl", \.timeToLive,
                .duration(
                    .seconds(1), .seconds(3600), "a spent challenge is remembered for as long"),
                "Life of an assertion challenge. Those that are out keep the life that they were "
                    + "made with.")
            Setting(
                "attestation_ttl", \.attestationTimeToLive,
                .duration(
                    .seconds(60), .seconds(72 * 3600),
                    "Apple wants the same hash retried, and an old challenge proves nothing"),
                "Life of an attestation challenge bound to a key. When Apple's service is "
                    + "unavailable an app has to retry with the same hash, perhaps much later.")
        }
    }
}

extension SecretSettings {
    static var form: Form<SecretSettings> {
        Form(SecretSettings()) {
            Setting(
                "challenge_key_file", optional: \.challengeKeyFile, .path,
                "The keys that seal challenges: base64 of 32 bytes on each line. The first seals, "
                    + "the others still open. Left out: made and kept beside the registry.")
            Setting(
                "pseudonym_key_file", optional: \.pseudonymKeyFile, .path,
                "The secret behind the names that keys have in the log, in the same form. Left "
                    + "out: made and kept beside the registry, or derived from the challenge keys.")
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
                    "until then whoever has a token can use it, as often as he likes"),
                "How long one assertion does for.")
            Setting(
                "bind_to", optional: \.boundHeader, .text(.header, boundHeader),
                "A header whose value must be the same as when the token was issued, so that it is "
                    + "of no use to another user.")
        }
    }

    private func boundHeader(_ field: Field) -> String? {
        guard let name = field.headerName() else { return nil }
        guard tellsUsersApart(HeaderReader.fold(name.value)) else {
            field.error(
                "\(name.shown) tells no user from another: name what your API knows them by, as "
                    + "Authorization or Cookie")
            return nil
        }
        return name.value.lowercased()
    }

    /// Not what brings the proof itself, is about the connection, or is the gateway's word.
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
                    "a token that nobody remembers must end by itself"),
                "How long a token may live, both when it is made and when it is used.")
            Setting(
                "revoked", \.revoked, .texts(.name), "Names and ids of tokens that count no more.")
        }
    }
}

extension EndpointSettings {
    static var form: Form<EndpointSettings> {
        Form(EndpointSettings()) {
            Setting(
                "base", \.base, .text(.text("path"), path),
                "The path below which the endpoints are.")
            Setting(
                "body_max", \.bodyByteCountMax,
                .byteCount(
                    12 * .kibibyte ... .mebibyte,
                    "an attestation is about 6KiB, 8KiB as base64, and is held in memory"),
                "The longest body of POST attest/verify.")
            Setting(
                "rate_limit", group: rateLimits,
                "Which of rate_limits count at the endpoints. The built-in ones protect them.")
            Setting(
                attestRolloutName, \.attestRollout, RolloutReader.attestRollout,
                "Who is given a challenge at attest/challenge, so that a large fleet does not "
                    + "begin at once: a share of installations. The others get 429.")
        }
    }

    private static var rateLimits: Form<EndpointSettings> {
        Form(EndpointSettings()) {
            Setting(
                "challenge", \.challengeRateLimits, .rateLimits(),
                "For attest/challenge, assert/challenge and assert/token.")
            Setting(
                "attestation_challenge", optional: \.attestationChallengeRateLimits, .rateLimits(),
                "For attest/challenge alone, in place of challenge. Apple throttles attestations "
                    + "over all installations of an app: a limit with by: global belongs here.")
            Setting(
                "attestation", \.attestationRateLimits, .rateLimits(), "For attest/verify.")
        }
    }

    private static func path(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        let path = text.value.hasSuffix("/") ? text.value : text.value + "/"
        return RoutePath.normalForm(of: path, shown: text.shown, field)
    }
}
