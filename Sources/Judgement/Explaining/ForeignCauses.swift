/// Why a token of another issuer was not taken.
enum ForeignCauses {
    private typealias Row = CauseExplanation

    private static let sendsWrongly =
        "Send what the issuer's library returned, once."

    static let proofs: [CauseExplanation] = [
        Row(
            [.tokenInvalid], ["proof_repeated"], .clientApp,
            "The header with the issuer's token came more than once.", sendsWrongly),
        Row(
            [.tokenInvalid], ["proof_malformed"], .clientApp,
            "The header holds no JWT, or one without exp.", sendsWrongly),
        Row(
            [.tokenInvalid], ["proof_algorithm"], .stranger,
            "The token's algorithm is not accepted, or not the key's.",
            "Compare the issuer's algorithm with proofs.NAME.algorithms. If they agree, it is an "
                + "attack."),
        Row(
            [.tokenInvalid], ["proof_critical"], .clientApp,
            "The token demands an extension that the gateway does not know (crit).",
            "Let the issuer leave it out."),
        Row(
            [.tokenInvalid], ["proof_key_unknown"], .stranger,
            "The issuer publishes no key with the token's id; or the token names none, and the "
                + "keys have ids.",
            "Nothing, if it is over after a minute. Renew pinned keys and send SIGHUP. Else the "
                + "token is of another issuer, or forged."),
        Row(
            [.tokenInvalid], ["proof_signature"], .stranger,
            "The token's signature does not hold.",
            "Nothing for one. If all are refused, the configured keys are not the issuer's."),
        Row(
            [.tokenInvalid], ["proof_issuer"], .operator,
            "The token is of another issuer.",
            "Compare its iss with proofs.NAME.issuer, or project."),
        Row(
            [.tokenInvalid], ["proof_audience"], .operator,
            "The token was made for another recipient.",
            "Compare its aud with proofs.NAME.audience."),
        Row(
            [.tokenInvalid], ["proof_subject"], .operator,
            "The token's subject is not in proofs.NAME.subjects.",
            "Add it, if the app is yours and may call the route."),
        Row(
            [.tokenInvalid], ["proof_expired"], .none,
            "The issuer's token is over.",
            "Nothing: the app fetches another one. If all are over, set the clock."),
        Row(
            [.tokenInvalid], ["proof_not_yet_valid"], .operator,
            "The token begins later than this gateway's clock allows.",
            "Set the clock, or see trust.clock_skew."),
        Row(
            [.storeUnavailable], ["proof_keys"], .operator,
            "The issuer's keys have not been fetched, or are too old.",
            "See the event jwks_down, and sallyport doctor. Right after a start it is over in a "
                + "moment."),
    ]
}
