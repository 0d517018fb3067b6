/// Why a key was not enrolled, or a token not taken.
enum EnrolmentCauses {
    private typealias Row = CauseExplanation

    private static let sendsWrongly =
        "Correct the app's enrolment: see the client guide."
    private static let isForged =
        "A forgery, or damage on the way: sallyport explain attestation takes it apart."
    private static let receiptIsLost =
        "The key works, without a risk metric. sallyport explain receipt takes it apart."

    static let enrolment: [CauseExplanation] = [
        Row(
            [.badRequest], ["json", "members", "attestation"], .clientApp,
            "The body is not one JSON object with key_id, challenge and the attestation (for "
                + "Android: platform and chain), or the attestation is not base64.",
            sendsWrongly),
        Row(
            [.badRequest], ["key_id"], .clientApp,
            "key_id is not base64 of 32 bytes, or came more than once.",
            "Send it as generateKey returned it; percent-encode it in a query."),
        Row(
            [.badRequest], ["installation"], .clientApp,
            "installation is empty, longer than 128 bytes, or came more than once.",
            "Send one short name, such as a UUID."),
        Row(
            [.badRequest], ["failure_report"], .clientApp,
            "A report of a failure in the app cannot be read.",
            "Send phase and code as the client guide shows."),
        Row(
            [.badRequest], ["query"], .clientApp,
            "The query is not correctly percent-encoded.",
            "Percent-encode the values, above all + and =."),
        Row(
            [.attestationInvalid], ["malformed"], .clientApp,
            "The attestation does not have the structure of Apple's.",
            "Send the bytes of attestKey as base64; sallyport explain attestation takes them "
                + "apart."),
        Row(
            [.attestationInvalid], ["certificate_expired"], .clientApp,
            "A certificate of the attestation has expired, after about three days.",
            "Send an attestation at once. If all fail, the gateway's clock is wrong: see "
                + "trust.clock_skew."),
        Row(
            [.attestationInvalid], ["certificate_not_yet_valid"], .operator,
            "A certificate of the attestation is not valid yet.",
            "Set the gateway's clock: see trust.clock_skew."),
        Row(
            [.attestationInvalid], ["certificate_chain"], .stranger,
            "The attestation's certificates do not lead to Apple's root.",
            "A simulator, a stand-in of tests (trust.extra_roots), or a forgery."),
        Row(
            [.attestationInvalid],
            [
                "certificate_profile", "nonce_missing", "nonce_malformed",
                "credential_id_mismatch", "public_key_mismatch", "counter_not_zero",
                "environment_unknown",
            ], .stranger,
            "Apple makes no such attestation: its certificate, nonce, keys, counter or environment "
                + "is wrong.",
            isForged),
        Row(
            [.attestationInvalid], ["nonce_mismatch"], .clientApp,
            "The attestation was made for another challenge, or with another hash of it.",
            "Give attestKey the SHA-256 of the challenge that is sent along, a new one for every "
                + "attestation."),
        Row(
            [.attestationInvalid], ["key_id_mismatch"], .clientApp,
            "The attested key is not the one that key_id names.",
            "Send id and attestation of the same key."),
        Row(
            [.attestationInvalid], ["app_mismatch"], .operator,
            "The attestation was made by an app that is not configured here.",
            "Compare apps[].id with the build: team, bundle id, and the target or extension that "
                + "attests. Else the app is not yours."),
        Row(
            [.attestationInvalid], ["environment_not_allowed"], .clientApp,
            "The attestation was made in an App Attest environment that this app does not take.",
            "Builds from Xcode attest in development, others in production. Use another build, set "
                + "the entitlement devicecheck.appattest-environment, or see apps[].environments."),
        Row(
            [.attestationInvalid], ["mac_security_reduced"], .device,
            "The Mac does not run with System Integrity Protection and Full Security.",
            "Set Full Security in macOS Recovery, or turn macos.require_full_security off."),
        Row(
            [.attestationInvalid], ["erased"], .operator,
            "The key was erased, and cannot come back.",
            "Nothing: the app makes a new key."),
        Row(
            [.ok],
            [
                "receipt_type", "receipt_malformed", "receipt_cms_invalid",
                "receipt_certificate_chain", "receipt_time_mismatch",
            ], .clientApp,
            "The key is enrolled; its receipt is damaged, not Apple's, or of another type or time.",
            receiptIsLost),
        Row(
            [.ok],
            [
                "receipt_app_mismatch", "receipt_key_mismatch", "receipt_environment_mismatch",
            ], .stranger,
            "The key is enrolled; its receipt is of another app, key or environment.",
            receiptIsLost),
    ]

    private static let sendsTokenWrongly =
        "Send one session token, as it was issued."

    static let tokens: [CauseExplanation] = [
        Row(
            [.tokenInvalid], ["token_missing"], .clientApp,
            "The route takes tokens and no assertions, and no token came.",
            "Fetch a token at assert/token and send it."),
        Row(
            [.tokenInvalid], ["token_repeated"], .clientApp,
            "The header with the token came more than once.", sendsTokenWrongly),
        Row(
            [.tokenInvalid], ["token_malformed"], .clientApp,
            "The header holds no token.", sendsTokenWrongly),
        Row(
            [.tokenInvalid], ["token_not_ours"], .operator,
            "The token was not issued by a gateway with these keys.",
            "Give all gateways the same secrets.challenge_key_file. A token of another service "
                + "ends here, too."),
        Row(
            [.tokenInvalid], ["token_signature"], .stranger,
            "The token was changed, or no key of this gateway has signed it.",
            "Nothing for one. Many are forgeries, or a challenge key was removed too early."),
        Row(
            [.tokenInvalid], ["token_expired"], .none, "The token is over.",
            "Nothing: the app fetches another one."),
        Row(
            [.tokenInvalid], ["token_not_yet_valid"], .operator,
            "The token was issued later than this gateway's clock allows.",
            "Set the gateways' clocks: see trust.clock_skew."),
        Row(
            [.tokenInvalid], ["token_lifetime"], .operator,
            "The developer token lives too long.",
            "Make another token: sallyport developer-token."),
        Row(
            [.tokenInvalid], ["token_audience"], .clientApp,
            "The token was issued for another route.",
            "Name the route when fetching the token, or fetch one for all."),
        Row(
            [.tokenInvalid], ["token_not_accepted"], .clientApp,
            "The route takes no tokens of this kind.",
            "Sign the request, or add the kind to accept."),
        Row(
            [.tokenInvalid], ["token_binding"], .clientApp,
            "The header of session_tokens.bind_to has changed, or is missing.",
            "Fetch a token after every login, and send the header. Many from one place mean a "
                + "stolen token."),
        Row(
            [.tokenInvalid], ["token_unbound"], .operator,
            "The token is bound to no header.",
            "Nothing: tokens from before a change of bind_to end."),
        Row(
            [.tokenInvalid], ["token_revoked"], .operator,
            "The developer token is in developer_tokens.revoked.",
            "Make another one."),
        Row(
            [.badRequest], ["bound_header"], .clientApp,
            "assert/token was called without the header of session_tokens.bind_to.",
            "Send it once and not empty."),
        Row(
            [.badRequest], ["token_routes"], .clientApp,
            "assert/token was asked for routes that take no tokens, or for one twice.",
            "Name only routes with token in accept, or send no body."),
        Row(
            [.ok], ["revocation_unknown"], .store,
            "The token was taken by on_store_failure: tokens_only; its key may be revoked.",
            "Bring the store back; the token ends by itself."),
    ]
}
