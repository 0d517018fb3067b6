/// Why an assertion, its challenge, its key or its app was not taken.
enum ProofCauses {
    private typealias Row = CauseExplanation

    private static let malformed: [Reason] = [.assertionMalformed, .assertionInvalid]
    private static let sendsWrongly =
        "Correct the app's signing code: see the client guide."
    private static let objectIsDamaged =
        "Send the bytes of generateAssertion as base64; sallyport explain assertion takes them "
        + "apart."

    static let assertions: [CauseExplanation] = [
        Row(
            [.assertionMalformed],
            [
                "assertion_repeated", "client_data_repeated", "key_id_repeated",
            ], .clientApp,
            "A header of the assertion came more than once.",
            sendsWrongly),
        Row(
            [.assertionMalformed], ["assertion_base64", "client_data_base64"], .clientApp,
            "A header of the assertion is not base64, or is too long (limits.client_data).",
            sendsWrongly),
        Row(
            [.assertionMalformed], ["client_data_missing"], .clientApp,
            "An assertion came without its client data.",
            sendsWrongly + " A proxy may have dropped the header."),
        Row(
            [.assertionMalformed], ["client_data_not_json"], .clientApp,
            "The client data is not one JSON object, or has a member twice.", sendsWrongly),
        Row(
            [.assertionMalformed],
            [
                "client_data_member_missing", "client_data_member_malformed",
            ], .clientApp,
            "A member of the client data is missing or malformed.",
            "Sign all members as the client guide lists them."),
        Row(
            [.assertionMalformed], ["key_id_missing"], .clientApp,
            "Neither the header nor the signed data names the key.",
            "Send the key id that generateKey returned."),
        Row(
            [.assertionMalformed], ["key_id_base64", "key_id_length", "key_id_member"], .clientApp,
            "The key id is not base64 of 32 bytes.",
            "Send the key id as generateKey returned it."),
        Row(
            [.assertionMalformed], ["key_ids_differ"], .clientApp,
            "The signed key id and that of the header differ.",
            "Sign and send the id of the same key."),
        Row(
            [.assertionMalformed], ["body_is_client_data"], .clientApp,
            "Client data of the shape header came as the body of a request.",
            "Send it in its header, or sign the body itself. If no app of yours does this, it is "
                + "an attack."),
        Row(
            [.assertionMalformed], ["challenge_repeated", "challenges_too_many"], .clientApp,
            "The signed body may hold the challenge more than once.",
            "Put the challenge into the body once, and use its name for nothing else."),
        Row(
            malformed,
            [
                "CBOR: <why>", "member <name> is missing or of another type",
                "fmt is not apple-appattest", "<n> bytes of authenticator data, more than <n>",
                "authenticator data ends inside its <part>",
                "the credential public key is not a P-256 key",
                "the bytes that follow are not one extension map", "x5c holds <n> certificates",
                "x5c[<n>] is not a certificate",
            ], .clientApp,
            "The assertion does not have the structure of Apple's.",
            objectIsDamaged),
        Row(
            [.assertionInvalid], ["signature_invalid"], .clientApp,
            "The signature is not this key's over this client data.",
            "Let the app hash exactly the bytes that it sends, once, with SHA-256. Else a proxy "
                + "changes header or body, or the request is forged."),
        Row(
            [.assertionInvalid], ["app_mismatch"], .clientApp,
            "The assertion was made by another app than the key was enrolled for.",
            "Use each key only in the app that made it; extensions need keys of their own."),
        Row(
            [.requestMismatch], ["method_mismatch"], .clientApp,
            "The method of the request is not the signed one.",
            "Sign the method that is sent. A redirect or a proxy may have changed it."),
        Row(
            [.requestMismatch], ["path_mismatch"], .clientApp,
            "The path of the request is not the signed one.",
            "Sign the path as it is sent, after percent-encoding. No proxy may rewrite it."),
        Row(
            [.requestMismatch], ["query_mismatch"], .clientApp,
            "The query of the request is not the signed one.",
            "Sign the query as it is sent, in its order and encoding. No proxy may change it."),
        Row(
            [.bodyMismatch, .requestMismatch], ["body_mismatch"], .clientApp,
            "The body of the request is not the signed one.",
            "Sign the hash of the bytes that are sent, after compression and encoding. No proxy "
                + "may change them."),
        Row(
            [.bodyMismatch], ["client_data_hash"], .clientApp,
            "In the shape body: the client data in the header is not the body.",
            "Sign and send the same bytes. No proxy may change them."),
    ]

    private static let signsAgain =
        "Nothing, if it is rare: the app signs again."

    static let challenges: [CauseExplanation] = [
        Row(
            [.challengeRequired], ["body_is_not_json"], .clientApp,
            "In the shape body: the signed body is not JSON, so it has no challenge.",
            "Use the shape header."),
        Row(
            [.challengeExpired], ["age"], .device,
            "The challenge was issued too long ago.",
            "Nothing, if it is rare: the app signs again. Else apps keep challenges too long, or "
                + "challenge.ttl is too short."),
        Row(
            [.challengeExpired], ["incarnation"], .store,
            "The counter store has begun again since the challenge was issued.",
            "Nothing for one restart: clients sign again once. If it goes on, the store loses its "
                + "memory: see Failures."),
        Row(
            [.challengeExpired], ["not_ours"], .clientApp,
            "No challenge key of this gateway has sealed the challenge.",
            "Give all gateways the same secrets.challenge_key_file, and keep an old key until its "
                + "challenges are over."),
        Row(
            [.challengeExpired], ["purpose"], .clientApp,
            "The challenge was made for another use.",
            "Take challenges for assertions from assert/challenge or the last answer, for "
                + "attestations from attest/challenge."),
        Row(
            [.challengeExpired], ["other_key"], .clientApp,
            "The challenge was issued for another key.",
            "Use a challenge with its key."),
        Row(
            [.challengeExpired], ["spent"], .clientApp,
            "The challenge has been used.",
            "Sign every request, and every retry, with a challenge of its own. A replay ends here, "
                + "too."),
        Row(
            [.assertionReplayed], ["counter_too_low"], .clientApp,
            "The assertion was seen before, or a later one of its key overtook it.",
            "Send requests of one key one after the other, or widen replay.window. A retry or a "
                + "replay ends here, too."),
        Row(
            [.assertionReplayed], ["counter_conflict"], .stranger,
            "The counter of the key was used with another challenge.",
            "Two devices may hold the key. Look at its other lines, and revoke it if they come "
                + "from two places."),
        Row(
            [.storeUnavailable], ["counter_state"], .store,
            "The state of the key in Redis was damaged.",
            "Find out what else writes to this Redis. " + signsAgain),
    ]

    static let demands: [CauseExplanation] = [
        Row(
            [.keyUnknown], ["app_not_configured"], .operator,
            "The key's app is not in the configuration.",
            "Add the app to apps again, or let its users update."),
        Row(
            [.keyUnknown], ["erased"], .operator, "The key was erased.",
            "Nothing: the app enrols a new key."),
        Row(
            [.keyRevoked], ["succeeded"], .device,
            "Another key has taken this one's place with a ticket, and has signed.",
            "Nothing: the app enrols a new key. Two devices may hold one ticket."),
        Row(
            [.gatewayBusy], ["app_newer"], .none,
            "The key's app came with a reload after the request had begun.",
            "Nothing: sent again, it passes."),
        Row(
            [.assertionRequired], ["tier"], .clientApp,
            "The proof is worth less than the route's min_tier.",
            "Send an assertion to this route, or lower min_tier."),
        Row(
            [.riskTooHigh], ["tier"], .device,
            "Apple counts many keys on this device, so the proof is worth less than min_tier.",
            "Ask whether the user reinstalls often. See the route's risk."),
        Row(
            [.distributionNotAllowed], ["app_mismatch"], .clientApp,
            "The route does not take the key's app.",
            "Add the app to attest.apps, or let it call its own routes."),
        Row(
            [.distributionNotAllowed], ["environment"], .clientApp,
            "The route does not take the key's App Attest environment.",
            "Use a build from TestFlight or the App Store, or add the environment to the route."),
        Row(
            [.distributionNotAllowed], ["category"], .device,
            "The app came onto the device in a way that the route does not take.",
            "Compare the route's categories with how the build was distributed."),
        Row(
            [.distributionNotAllowed], ["category_missing"], .device,
            "The key does not tell how its app came onto the device, as before iOS 27.",
            "Set only_or_missing on the route, or wait for updates."),
        Row(
            [.appOutdated], ["version"], .device,
            "The app is older than the route takes.",
            "Nothing: the user has to update to min_bundle_version."),
        Row(
            [.appOutdated], ["version_malformed"], .clientApp,
            "The version of the app is not numbers with dots.",
            "Correct the build's CFBundleVersion."),
        Row(
            [.appOutdated], ["version_missing"], .device,
            "The key does not tell the app's version, as before iOS 27.",
            "Set missing: pass on the route, or wait for updates."),
        Row(
            [.storeUnavailable], ["rollout"], .store,
            "The share of the rollout has not been read from the registry since the start.",
            "Nothing, if it is over after seconds. Else see the registry."),
    ]
}
