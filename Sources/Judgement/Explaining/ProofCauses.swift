/// Why an assertion, its challenge, its key or its app was not taken.
enum ProofCauses {
    private typealias Row = CauseExplanation

    private static let malformed: [Reason] = [.assertionMalformed, .assertionInvalid]
    private static let sendsWrongly =
        "Correct the app's signing code: the client guide shows the headers and their form."
    private static let objectIsDamaged =
        "Send the bytes of generateAssertion as they came, in base64. sallyport explain assertion "
        + "takes the object apart."

    static let assertions: [CauseExplanation] = [
        Row(
            [.assertionMalformed], ["assertion_repeated"], .clientApp,
            "The header with the assertion came more than once.", sendsWrongly),
        Row(
            [.assertionMalformed], ["assertion_base64"], .clientApp,
            "The header with the assertion is not base64, or is too long.", sendsWrongly),
        Row(
            [.assertionMalformed], ["client_data_missing"], .clientApp,
            "An assertion came without its client data.",
            sendsWrongly + " A proxy in front of the gateway may also have dropped the header."),
        Row(
            [.assertionMalformed], ["client_data_repeated"], .clientApp,
            "The header with the client data came more than once.", sendsWrongly),
        Row(
            [.assertionMalformed], ["client_data_base64"], .clientApp,
            "The client data is not base64, or is longer than limits.client_data.", sendsWrongly),
        Row(
            [.assertionMalformed], ["client_data_not_json"], .clientApp,
            "The client data is not one JSON object, or has a member twice.", sendsWrongly),
        Row(
            [.assertionMalformed], ["client_data_member_missing"], .clientApp,
            "A member of the client data is missing.",
            "Sign all members that the client guide lists for the shape header."),
        Row(
            [.assertionMalformed], ["client_data_member_malformed"], .clientApp,
            "A member of the client data is not a string of the form that it must have.",
            "Sign the members in the form that the client guide gives."),
        Row(
            [.assertionMalformed], ["key_id_missing"], .clientApp,
            "Neither the header nor the signed data names the key.",
            "Send the key id that the app received from generateKey."),
        Row(
            [.assertionMalformed], ["key_id_repeated"], .clientApp,
            "The header with the key id came more than once.", sendsWrongly),
        Row(
            [.assertionMalformed], ["key_id_base64"], .clientApp,
            "The header with the key id is not base64.",
            "Send the key id as generateKey returned it, without another encoding."),
        Row(
            [.assertionMalformed], ["key_id_length"], .clientApp,
            "The key id does not stand for 32 bytes.",
            "Send the key id as generateKey returned it, without another encoding."),
        Row(
            [.assertionMalformed], ["key_id_member"], .clientApp,
            "The key id in the signed body is not base64 of 32 bytes.",
            "Sign the key id as generateKey returned it."),
        Row(
            [.assertionMalformed], ["key_ids_differ"], .clientApp,
            "The signed key id is another one than the header names.",
            "Sign and send the id of the same key."),
        Row(
            [.assertionMalformed], ["body_is_client_data"], .clientApp,
            "JSON that was signed for the shape header came as the body of a request.",
            "Send the client data in its header, or sign the body itself (shape body). If no app "
                + "of yours does this, somebody tries to use a signature for another request."),
        Row(
            [.assertionMalformed], ["challenge_repeated"], .clientApp,
            "The signed body contains the member with the challenge more than once.",
            "Put the challenge into the body once."),
        Row(
            [.assertionMalformed], ["challenges_too_many"], .clientApp,
            "The signed body contains too many members that may be the challenge.",
            "Put the challenge into the body once, and use its name for nothing else."),
        Row(
            malformed, ["CBOR: <why>"], .clientApp,
            "The assertion is not the CBOR that Apple's devices make.", objectIsDamaged),
        Row(
            malformed,
            [
                "member <name> is missing or of another type", "fmt is not apple-appattest",
                "<n> bytes of authenticator data, more than <n>",
                "authenticator data ends inside its <part>",
                "the credential public key is not a P-256 key",
                "the bytes that follow are not one extension map", "x5c holds <n> certificates",
                "x5c[<n>] is not a certificate",
            ], .clientApp, "The assertion does not have the structure of Apple's.",
            objectIsDamaged),
        Row(
            [.assertionInvalid], ["signature_invalid"], .clientApp,
            "The signature is not this key's over this client data.",
            "Let the app hash exactly the bytes that it sends, once, with SHA-256. If an app that "
                + "worked before gets it, a proxy changes the header or body, or the request is "
                + "forged."),
        Row(
            [.assertionInvalid], ["app_mismatch"], .clientApp,
            "The assertion was made by another app than the key was enrolled for.",
            "Use each key only in the app that made it: extensions and other bundle ids need "
                + "keys of their own. Look for a key id that is shared between apps."),
        Row(
            [.requestMismatch], ["method_mismatch"], .clientApp,
            "The method of the request is not the signed one.",
            "Sign the method that is sent. A redirect that the HTTP library follows, or a proxy, "
                + "may have changed it."),
        Row(
            [.requestMismatch], ["path_mismatch"], .clientApp,
            "The path of the request is not the signed one.",
            "Sign the path as it is sent, after percent-encoding. A proxy in front of the gateway "
                + "must not rewrite it."),
        Row(
            [.requestMismatch], ["query_mismatch"], .clientApp,
            "The query of the request is not the signed one.",
            "Sign the query as it is sent, in its order and encoding. A proxy in front of the "
                + "gateway must not change it."),
        Row(
            [.bodyMismatch, .requestMismatch], ["body_mismatch"], .clientApp,
            "The body of the request is not the signed one.",
            "Sign the hash of the bytes that are sent, after compression and encoding. A proxy in "
                + "front of the gateway must not change the body."),
        Row(
            [.bodyMismatch], ["client_data_hash"], .clientApp,
            "In the shape body: the client data in the header is not the body that came.",
            "Sign and send the same bytes. A proxy in front of the gateway must not change the "
                + "body."),
    ]

    private static let signsAgain =
        "Nothing, if it is rare: the app signs again with the challenge of this answer."

    static let challenges: [CauseExplanation] = [
        Row(
            [.challengeRequired], ["body_is_not_json"], .clientApp,
            "In the shape body: the signed body is not JSON, so it contains no challenge.",
            "Use the shape header for bodies that are not JSON."),
        Row(
            [.challengeExpired], ["age"], .device,
            "The challenge was issued too long ago.",
            "Nothing, if it is rare: the app signs again. If it is frequent, apps keep challenges "
                + "in store, sit in the background, or challenge.ttl is too short."),
        Row(
            [.challengeExpired], ["incarnation"], .store,
            "The counter store has begun again since the challenge was issued.",
            "Nothing for one restart: each client signs again once. If it goes on, the counter "
                + "store loses its memory: see Failures."),
        Row(
            [.challengeExpired], ["not_ours"], .clientApp,
            "No challenge key of this gateway has sealed the challenge.",
            "Give all gateways of a site the same secrets.challenge_key_file, and keep an old "
                + "key until its challenges are over. Else the app sends what is no challenge."
        ),
        Row(
            [.challengeExpired], ["purpose"], .clientApp,
            "The challenge was made for another use: for an attestation, or for an assertion.",
            "Take challenges for assertions from assert/challenge or the last answer, and those "
                + "for attestations from attest/challenge."),
        Row(
            [.challengeExpired], ["other_key"], .clientApp,
            "The challenge was issued for another key.",
            "Use a challenge with the key that it was fetched with."),
        Row(
            [.challengeExpired], ["spent"], .clientApp,
            "The challenge has been used.",
            "Sign every request with a challenge of its own. A retry by the HTTP library sends "
                + "the same one twice; so does somebody who repeats a request."),
        Row(
            [.assertionReplayed], ["counter_too_low"], .clientApp,
            "The assertion was seen before, or a later one of its key overtook it.",
            "Send requests of one key one after the other, or widen replay.window. A retry by the "
                + "HTTP library, or somebody who repeats a request, also ends here."),
        Row(
            [.assertionReplayed], ["counter_conflict"], .stranger,
            "The counter of the key was used with another challenge.",
            "Two devices may hold the key, or one went back to an earlier state. Look at the "
                + "key's other lines, and revoke it if they come from two places."),
        Row(
            [.storeUnavailable], ["counter_state"], .store,
            "The state of the key in Redis was damaged; it goes on at its last counter.",
            "Find out who writes to this Redis beside the gateways. " + signsAgain),
    ]

    static let demands: [CauseExplanation] = [
        Row(
            [.keyUnknown], ["app_not_configured"], .operator,
            "The key is enrolled, and its app is not in the configuration.",
            "Add the app to apps again, or let its users update to the app that is configured."),
        Row(
            [.keyUnknown], ["erased"], .operator, "The key was erased.",
            "Nothing: the app enrols a new key."),
        Row(
            [.gatewayBusy], ["app_newer"], .nobody,
            "The key's app came with a reload after the request had begun.",
            "Nothing: sent again, it passes."),
        Row(
            [.assertionRequired], ["tier"], .clientApp,
            "The proof holds, and is worth less than the route's min_tier.",
            "Let the app send an assertion to this route, or lower min_tier."),
        Row(
            [.riskTooHigh], ["tier"], .device,
            "Apple counts many keys on this device, so the proof is worth less than min_tier.",
            "Ask whether the user reinstalls often. The route's risk says from how many keys on."),
        Row(
            [.distributionNotAllowed], ["app_mismatch"], .clientApp,
            "The key is of an app that this route does not take.",
            "Add the app to attest.apps of the route, or let the app call its own routes."),
        Row(
            [.distributionNotAllowed], ["environment"], .clientApp,
            "The key is of an App Attest environment that this route does not take.",
            "A development build calls a production route, or the reverse: use a build from "
                + "TestFlight or the App Store, or add the environment to the route."),
        Row(
            [.distributionNotAllowed], ["category"], .device,
            "The app came onto the device in a way that this route does not take.",
            "Compare the route's validation categories with how the build was distributed."),
        Row(
            [.distributionNotAllowed], ["category_missing"], .device,
            "The key does not tell how its app came onto the device, as before iOS 27.",
            "Allow unknown categories on the route, or wait until devices have updated."),
        Row(
            [.appOutdated], ["version"], .device, "The app is older than the route takes.",
            "Nothing: the user has to update the app. min_bundle_version says to what."),
        Row(
            [.appOutdated], ["version_malformed"], .clientApp,
            "The version of the app is not numbers with dots.",
            "Give the build a CFBundleVersion of numbers with dots."),
        Row(
            [.appOutdated], ["version_missing"], .device,
            "The key does not tell the app's version, as before iOS 27.",
            "Accept unknown versions on the route, or wait until devices have updated."),
        Row(
            [.storeUnavailable], ["rollout"], .store,
            "The share of the rollout has not been read from the registry since the start.",
            "Nothing, if it is over after seconds. Else see what the registry says."),
    ]
}
