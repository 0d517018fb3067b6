/// Why a key was not enrolled, or a token not taken.
enum EnrolmentCauses {
    private typealias Row = CauseExplanation

    private static let sendsWrongly =
        "Correct the app's enrolment: the client guide shows the body."
    private static let isForged =
        "No app can make this by itself. sallyport explain attestation takes the object apart; if "
        + "it is damaged, look for what changes bodies on the way, else it is forged."
    private static let receiptIsLost =
        "The key works, and without a receipt no risk metric becomes known. sallyport explain "
        + "receipt takes it apart."

    static let enrolment: [CauseExplanation] = [
        Row(
            [.badRequest], ["json"], .clientApp, "The body is not one JSON object.", sendsWrongly),
        Row(
            [.badRequest], ["members"], .clientApp,
            "key_id, attestation or challenge is missing, or is not a string.", sendsWrongly),
        Row(
            [.badRequest], ["key_id"], .clientApp,
            "key_id is not base64 of 32 bytes, or came more than once.",
            "Send the key id as generateKey returned it; percent-encode it in a query."),
        Row(
            [.badRequest], ["attestation"], .clientApp, "The attestation is not base64.",
            sendsWrongly),
        Row(
            [.badRequest], ["installation"], .clientApp,
            "installation is empty, longer than 128 bytes, or came more than once.",
            "Send one short name, such as a UUID."),
        Row(
            [.badRequest], ["failure_report"], .clientApp,
            "A report of a failure in the app cannot be read.",
            "Send phase and code, and what else it has in the form that the client guide shows."),
        Row(
            [.badRequest], ["query"], .clientApp, "The query is not correctly percent-encoded.",
            "Percent-encode the values, above all + and = of base64."),
        Row(
            [.attestationInvalid], ["malformed"], .clientApp,
            "The attestation does not have the structure of Apple's.",
            "Send the bytes of attestKey as they came, in base64. sallyport explain attestation "
                + "takes the object apart."),
        Row(
            [.attestationInvalid], ["certificate_expired"], .clientApp,
            "A certificate of the attestation has expired: Apple's leaves live for about three "
                + "days.",
            "Send an attestation at once, and attest a new key after a failure of days. If all "
                + "fail, the gateway's clock is wrong: see trust.clock_skew."),
        Row(
            [.attestationInvalid], ["certificate_not_yet_valid"], .operator,
            "A certificate of the attestation is not valid yet.",
            "Set the gateway's clock: see trust.clock_skew."),
        Row(
            [.attestationInvalid], ["certificate_chain"], .stranger,
            "The attestation's certificates do not lead to Apple's root.",
            "Apple has not signed it: a simulator, a stand-in of tests (trust.extra_roots), or a "
                + "forgery."),
        Row(
            [.attestationInvalid], ["certificate_profile"], .stranger,
            "The certificate is signed by Apple, and is not one of an App Attest key.", isForged),
        Row(
            [.attestationInvalid], ["nonce_missing", "nonce_malformed"], .stranger,
            "The certificate has no nonce of the form that Apple uses.", isForged),
        Row(
            [.attestationInvalid], ["nonce_mismatch"], .clientApp,
            "The attestation was made for another challenge, or with another hash of it.",
            "Give attestKey the SHA-256 of the challenge that is sent along, and fetch a new one "
                + "for every attestation."),
        Row(
            [.attestationInvalid], ["key_id_mismatch"], .clientApp,
            "The attested key is not the one that key_id names.",
            "Send the key id and the attestation of the same key."),
        Row(
            [.attestationInvalid], ["credential_id_mismatch", "public_key_mismatch"], .stranger,
            "Parts of the attestation name different keys.", isForged),
        Row(
            [.attestationInvalid], ["app_mismatch"], .operator,
            "The attestation was made by an app that is not configured here.",
            "Compare apps[].id (TEAMID.bundle.id) with the build: team, bundle id, and the target "
                + "or extension that attests. If nothing of yours has this id, it is somebody "
                + "else's app."),
        Row(
            [.attestationInvalid], ["counter_not_zero"], .stranger,
            "The attested key is not new: its counter is not 0.", isForged),
        Row(
            [.attestationInvalid], ["environment_unknown"], .stranger,
            "The attestation is of no environment of Apple's.", isForged),
        Row(
            [.attestationInvalid], ["environment_not_allowed"], .clientApp,
            "The attestation was made in an App Attest environment that this app does not take.",
            "A build from Xcode attests in development, builds from TestFlight and the App Store "
                + "in production. Use another build, set the entitlement "
                + "devicecheck.appattest-environment, or add the environment to "
                + "apps[].environments."),
        Row(
            [.attestationInvalid], ["mac_security_reduced"], .device,
            "The Mac does not run with System Integrity Protection and Full Security.",
            "The user sets Full Security in macOS Recovery, or macos.require_full_security goes."),
        Row(
            [.attestationInvalid], ["erased"], .operator,
            "The key was erased, and cannot come back.", "Nothing: the app makes a new key."),
        Row(
            [.ok], ["receipt_type"], .clientApp,
            "The key is enrolled; the receipt with it is not one of an attestation.",
            receiptIsLost),
        Row(
            [.ok], ["receipt_malformed", "receipt_cms_invalid", "receipt_certificate_chain"],
            .clientApp, "The key is enrolled; the receipt with it is damaged or not Apple's.",
            receiptIsLost),
        Row(
            [.ok],
            ["receipt_app_mismatch", "receipt_key_mismatch", "receipt_environment_mismatch"],
            .stranger,
            "The key is enrolled; the receipt with it is of another app, key or environment.",
            receiptIsLost),
        Row(
            [.ok], ["receipt_time_mismatch"], .clientApp,
            "The key is enrolled; the receipt with it was not made when the attestation was.",
            receiptIsLost),
    ]

    private static let sendsTokenWrongly =
        "Correct the app: it sends one token, as it was issued, in the header of session tokens."

    static let tokens: [CauseExplanation] = [
        Row(
            [.tokenInvalid], ["token_missing"], .clientApp,
            "The route takes tokens and no assertions, and no token came.",
            "Let the app fetch a token at assert/token and send it."),
        Row(
            [.tokenInvalid], ["token_repeated"], .clientApp,
            "The header with the token came more than once.", sendsTokenWrongly),
        Row(
            [.tokenInvalid], ["token_malformed"], .clientApp,
            "The header holds no token.", sendsTokenWrongly),
        Row(
            [.tokenInvalid], ["token_not_ours"], .operator,
            "The token was not issued by a gateway with these keys.",
            "Give all gateways of a site the same secrets.challenge_key_file. A token of another "
                + "service in this header ends here, too."),
        Row(
            [.tokenInvalid], ["token_signature"], .stranger,
            "The token was changed, or no key of this gateway has signed it.",
            "Nothing for one: the app fetches another. Many are attempts to forge tokens, or a "
                + "challenge key that was removed too early."),
        Row(
            [.tokenInvalid], ["token_expired"], .nobody, "The token is over.",
            "Nothing: the app fetches another one. It may do so before expires_in has passed."),
        Row(
            [.tokenInvalid], ["token_not_yet_valid"], .operator,
            "The token was issued later than this gateway's clock allows.",
            "Set the clocks of all gateways: see trust.clock_skew."),
        Row(
            [.tokenInvalid], ["token_lifetime"], .operator,
            "The developer token lives longer than such tokens may.",
            "Make another token: sallyport developer-token."),
        Row(
            [.tokenInvalid], ["token_audience"], .clientApp,
            "The token was issued for another route.",
            "Name the route when fetching the token, or fetch one for all."),
        Row(
            [.tokenInvalid], ["token_not_accepted"], .clientApp,
            "The route takes no tokens of this kind.",
            "Sign the request, or add the kind to accept of the route."),
        Row(
            [.tokenInvalid], ["token_binding"], .clientApp,
            "The header that the token is bound to has another value, or is missing.",
            "Fetch a token after every login, and send the header of session_tokens.bind_to. Many "
                + "from one place mean a stolen token."),
        Row(
            [.tokenInvalid], ["token_unbound"], .operator,
            "The token is bound to no header, and the configuration demands that.",
            "Nothing: tokens from before the change of bind_to end, and apps fetch others."),
        Row(
            [.tokenInvalid], ["token_revoked"], .operator,
            "The developer token is in developer_tokens.revoked.",
            "Make another one for the machine that should get in."),
        Row(
            [.badRequest], ["bound_header"], .clientApp,
            "assert/token was called without the header that session tokens are bound to.",
            "Send the header of session_tokens.bind_to with the call, once and not empty."),
        Row(
            [.badRequest], ["token_routes"], .clientApp,
            "assert/token was asked for routes that take no tokens, or for one twice.",
            "Name only routes whose accept has token, or send no body."),
        Row(
            [.ok], ["revocation_unknown"], .store,
            "The token was taken by on_store_failure: tokens_only; whether its key was revoked is "
                + "not known.",
            "Bring the store back; the token ends by itself."),
    ]
}
