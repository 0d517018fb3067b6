/// Reads `challenge` and `secrets`.
enum ChallengeReader {
    static func challenge(_ field: Field) -> ChallengeSettings? {
        field.section { section in
            var challenge = ChallengeSettings()
            section.set("ttl", &challenge.timeToLive) {
                $0.duration(
                    .seconds(1), .seconds(3600),
                    "a spent challenge is remembered for as long")
            }
            section.set("attestation_ttl", &challenge.attestationTimeToLive) {
                $0.duration(
                    .seconds(60), .seconds(72 * 3600),
                    "Apple wants the same hash retried, and an old challenge proves nothing")
            }
            return challenge
        }
    }

    static func secrets(_ field: Field) -> SecretSettings? {
        field.section { section in
            var secrets = SecretSettings()
            section.set("challenge_key_file", &secrets.challengeKeyFile) { $0.filePath() }
            section.set("pseudonym_key_file", &secrets.pseudonymKeyFile) { $0.filePath() }
            return secrets
        }
    }
}

/// Reads `session_tokens`.
struct SessionTokenReader {
    let headers: HeaderNames

    func sessionTokens(_ field: Field) -> SessionTokenSettings? {
        field.section { section in
            var tokens = SessionTokenSettings()
            section.set("ttl", &tokens.timeToLive) {
                $0.duration(
                    .seconds(10), .seconds(3600),
                    "until then whoever has a token can use it, as often as he likes")
            }
            section.set("bind_to", &tokens.boundHeader, boundHeader)
            return tokens
        }
    }

    private func boundHeader(_ field: Field) -> String?? {
        guard let text = field.text() else { return nil }
        guard HeaderReader.isName(text.value) else {
            field.error("\(text.shown) is not a header name (RFC 9110 section 5.1)")
            return nil
        }
        guard tellsUsersApart(HeaderReader.fold(text.value)) else {
            field.error(
                "\(text.shown) tells no user from another: name what your API knows them by, as "
                    + "Authorization or Cookie")
            return nil
        }
        return .some(text.value.lowercased())
    }

    /// Not what brings the proof itself, is about the connection, or is the gateway's word.
    private func tellsUsersApart(_ folded: String) -> Bool {
        HeaderEditReader.request.allows(folded)
            && !headers.all.contains { HeaderReader.fold($0) == folded }
    }
}

/// Reads `developer_tokens`.
enum DeveloperTokenReader {
    static func developerTokens(_ field: Field) -> DeveloperTokenSettings? {
        field.section { section in
            var tokens = DeveloperTokenSettings()
            section.set("max_ttl", &tokens.lifeMax) {
                $0.duration(
                    .seconds(60), .seconds(365 * 24 * 3600),
                    "a token that nobody remembers must end by itself")
            }
            section.set("revoked", &tokens.revoked) { $0.list(name) }
            return tokens
        }
    }

    private static func name(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        guard Name.isValid(text.value) else {
            field.error("\(text.shown) \(Name.rule)")
            return nil
        }
        return text.value
    }
}

/// Reads `endpoints`.
enum EndpointReader {
    static func endpoints(_ field: Field) -> EndpointSettings? {
        field.section { section in
            var endpoints = EndpointSettings()
            section.set("base", &endpoints.base, base)
            section.set("body_max", &endpoints.bodyByteCountMax) {
                $0.byteCount(
                    12 * 1024...1024 * 1024,
                    "an attestation is about 6KiB, 8KiB as base64, and is held in memory")
            }
            if let field = section.field("rate_limit") { rateLimits(field, of: &endpoints) }
            section.set(
                EndpointSettings.attestRolloutName, &endpoints.attestRollout,
                RolloutReader.attestRollout)
            return endpoints
        }
    }

    private static func rateLimits(_ field: Field, of endpoints: inout EndpointSettings) {
        var limited = endpoints
        _ = field.section { section in
            section.set("challenge", &limited.challengeRateLimits) {
                $0.rateLimitNames(allowingKey: false)
            }
            section.set("attestation_challenge", &limited.attestationChallengeRateLimits) {
                $0.rateLimitNames(allowingKey: false)
            }
            section.set("attestation", &limited.attestationRateLimits) {
                $0.rateLimitNames(allowingKey: false)
            }
        }
        endpoints = limited
    }

    private static func base(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        let path = text.value.hasSuffix("/") ? text.value : text.value + "/"
        return RoutePath.normalForm(of: path, shown: text.shown, field)
    }
}
