/// Why the key of an Android phone was not enrolled.
enum AndroidCauses {
    private typealias Row = CauseExplanation

    private static let isForged =
        "A forgery, or damage on the way: sallyport explain android-attestation takes the chain "
        + "apart."

    static let enrolment: [CauseExplanation] = [
        Row(
            [.attestationInvalid],
            [
                "chain_length", "certificate_malformed", "leaf_key", "chain_order", "issuer_key",
                "signature_invalid", "extension_in_intermediate", "key_description_malformed",
                "tag_order",
            ], .stranger, "No phone makes such a chain of certificates.", isForged),
        Row(
            [.attestationInvalid], ["root_unknown"], .device,
            "The chain does not end at a root of Google's.",
            "An emulator, a phone without Google's certification, or a forgery."),
        Row(
            [.attestationInvalid], ["extension_missing"], .clientApp,
            "The key was made without a challenge, so nothing attests it.",
            "Make the key with setAttestationChallenge."),
        Row(
            [.attestationInvalid], ["attestation_certificate"], .stranger,
            "A key that is not a phone's attestation key vouches for the app's.",
            "A forgery, as by the owner of a phone's virtual machine or a thief of its key."),
        Row(
            [.attestationInvalid], ["not_yet_valid", "expired"], .clientApp,
            "A certificate of the chain is outside its time.",
            "Send the chain as soon as the key is made. If all fail, set the gateway's clock."),
        Row(
            [.attestationInvalid], ["revoked"], .stranger,
            "Google has withdrawn a certificate of the chain.",
            "Its key was most probably stolen from a phone and signs for others. The phone that "
                + "it was stolen from is refused, too."),
        Row(
            [.attestationInvalid], ["challenge_mismatch"], .clientApp,
            "The key was made for another challenge.",
            "Give setAttestationChallenge the challenge's bytes, a new one for every key, or their "
                + "SHA-256 if there are more than 128."),
        Row(
            [.attestationInvalid], ["device_identifiers"], .clientApp,
            "The attestation names a serial number, an IMEI or a MEID.",
            "Do not ask Keystore to attest them."),
        Row(
            [.attestationInvalid], ["security_level"], .device,
            "The key is not kept where the app demands it.",
            "An emulator, an old phone, or security_level: strongbox on a phone without one."),
        Row(
            [.attestationInvalid],
            ["origin", "key_parameters", "purpose", "digest", "all_applications"], .clientApp,
            "The key was made with other properties than it must have.",
            "Make it as the client library does: EC P-256, for signing alone, with SHA-256."),
        Row(
            [.attestationInvalid],
            ["root_of_trust_missing", "device_unlocked", "verified_boot"], .device,
            "The phone's boot loader is unlocked, or its system is not the maker's.",
            "For a system that you trust, list its key in boot_keys of the app."),
        Row(
            [.attestationInvalid], ["patch_level"], .device,
            "The phone's security patch is older than the app allows.",
            "The user updates the phone, or patch_age_max is raised."),
        Row(
            [.attestationInvalid], ["package", "signing_digest"], .operator,
            "The app that made the key is not configured here, or another certificate signed it.",
            "Compare android and signing_digests with the build. With Play App Signing the digest "
                + "is Play's. Else the app is not yours."),
        Row(
            [.storeUnavailable], ["revocation_list_missing"], .operator,
            "No list of withdrawn certificates is young enough, so no Android key can enrol.",
            "Make the place of trust.android.revocation reachable."),
    ]
}
