import AndroidAttestation
import AndroidAttestationTesting
import Bytes

/// The options that say what a simulated phone is.
enum PhoneOptions {
    static let names = [
        "--app", "--signing-digest", "--security-level", "--provisioning",
        "--attestation-version", "--boot-state", "--boot-key", "--os-version", "--patch-level",
        "--quirk",
    ]
    static let flags = ["--unlocked"]

    static let usage = """
        PHONE: --app PACKAGE[,PACKAGE...]       the app, and those that share its user id
               --signing-digest HEX[,HEX...]    SHA-256 of the certificates that sign them
               --security-level tee|strongbox   tee by default; software: --fault softwareKey
               --provisioning factory|remote    factory by default
               --attestation-version N          1 to 4, 100 to 500; 300 by default
               --boot-state verified|self_signed|unverified|failed, --boot-key HEX, --unlocked
               --os-version MMmmss, --patch-level YYYYMM
               --quirk NAME[,NAME...]           what real phones write (see mint --list)
        """

    /// The phone that the options say, which must name an app and a digest.
    static func profile(_ options: LabOptions) -> PhoneProfile {
        var profile = PhoneProfile(package: options.required("--app"), signingDigest: .zero)
        profile.packages = options.list("--app") ?? []
        _ = options.required("--signing-digest")
        profile.signingDigests = (options.list("--signing-digest") ?? []).map {
            digest($0, "--signing-digest")
        }
        if let text = options.value("--security-level") {
            // A key of the system's own is `--fault softwareKey`.
            let levels = [AndroidSecurityLevel.trustedEnvironment, .strongBox]
            profile.securityLevel = options.one(
                text, of: levels.map { ($0.name, $0) }, "--security-level")
        }
        profile.provisioning = options.choice("--provisioning", or: profile.provisioning)
        profile.attestationVersion = number(
            options, "--attestation-version", profile.attestationVersion)
        if let text = options.value("--boot-state") {
            profile.bootState = options.one(
                text, of: RootOfTrust.BootState.allCases.map { ($0.name, $0) }, "--boot-state")
        }
        profile.isLocked = !options.has("--unlocked")
        if let text = options.value("--boot-key") { profile.bootKey = digest(text, "--boot-key") }
        profile.osVersion = number(options, "--os-version", profile.osVersion)
        profile.osPatchLevel = number(options, "--patch-level", profile.osPatchLevel)
        let quirks = PhoneQuirk.allCases.map { ($0.rawValue, $0) }
        profile.quirks = Set(
            (options.list("--quirk") ?? []).map { options.one($0, of: quirks, "--quirk") })
        return profile
    }

    private static func number(_ options: LabOptions, _ name: String, _ fallback: Int64) -> Int64 {
        Int64(options.count(name, or: Int(fallback)))
    }

    /// 32 bytes in hexadecimal, with or without colons.
    private static func digest(_ text: String, _ name: String) -> Bytes32 {
        guard let bytes = Hex.decode(text.filter { $0 != ":" }), let digest = Bytes32(bytes) else {
            LabExit.usage("\(name): \(text) is not a SHA-256 in hexadecimal")
        }
        return digest
    }
}
