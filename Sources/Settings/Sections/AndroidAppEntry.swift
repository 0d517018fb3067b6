import AndroidAttestation
import Attestation
import Bytes

/// The keys of `apps` that Android apps have.
struct AndroidAppEntry {
    var package: String?
    var signingDigests: [Bytes32] = []
    var securityLevel = SecurityLevel.tee
    var bootKeys: [Bytes32] = []
    /// Zero for no limit.
    var patchAgeMax = Duration.zero

    /// The keys beside `android`.
    static let keys = ["signing_digests", "security_level", "boot_keys", "patch_age_max"]

    init() {}

    /// Nil for an app of another platform.
    init?(_ app: AppIdentity) {
        guard let demands = app.androidDemands else { return nil }
        package = app.id
        signingDigests = demands.signingDigests.sorted {
            $0.array.lexicographicallyPrecedes($1.array)
        }
        securityLevel = demands.securityLevel == .strongBox ? .strongbox : .tee
        bootKeys = demands.bootKeys.sorted { $0.array.lexicographicallyPrecedes($1.array) }
        patchAgeMax = demands.patchAgeMaxDays.map { .seconds(Int64($0) * 86_400) } ?? .zero
    }

    /// The app; nil if the entry names no package.
    func identity(_ environments: Set<AttestEnvironment>) -> AppIdentity? {
        guard let package else { return nil }
        let days = Int(patchAgeMax.components.seconds / 86_400)
        return AppIdentity(
            android: package, environments: environments,
            demands: AndroidDemands(
                signingDigests: signingDigests,
                securityLevel: securityLevel == .strongbox ? .strongBox : .trustedEnvironment,
                bootKeys: bootKeys, patchAgeMaxDays: days > 0 ? days : nil))
    }

    @FormBuilder<AppReader>
    static var settings: [Setting<AppReader>] {
        Setting(
            "android", optional: \.android.package, packageName,
            "The package name of an Android app, which is its id everywhere else.")
        Setting(
            "signing_digests", \.android.signingDigests,
            Kind<[Bytes32]>.list(digest, empty: "is empty: no key of this app could enrol"),
            printed: isAndroid,
            "SHA-256 of each certificate that signs the app, in hexadecimal, with or without "
                + "colons. With Play App Signing it is Play's, not that of the upload key.")
        Setting(
            "security_level", \.android.securityLevel, .word, printed: isAndroid,
            "The least place for the key: tee (the main processor's trusted environment), or "
                + "strongbox (a processor of its own, which many phones lack).")
        Setting(
            "boot_keys", \.android.bootKeys, .list(digest), printed: isAndroid,
            "Verified boot keys of systems other than the maker's, in hexadecimal, that are "
                + "accepted on a locked phone.")
        Setting(
            "patch_age_max", \.android.patchAgeMax,
            .durationOrOff(.seconds(30 * 86_400), .seconds(3650 * 86_400), "patches come monthly"),
            printed: isAndroid,
            "The oldest security patch of a phone that may enrol. Some phones never state one, "
                + "and could not enrol.")
    }

    private static func isAndroid(_ entry: AppReader) -> Bool { entry.android.package != nil }

    private static var packageName: Kind<String> {
        .text(
            .text("two or more words of letters, digits and _ between periods"),
            "is not the package name of an Android app, such as com.example.app",
            AppIdentity.isAndroidPackageName)
    }

    /// 32 bytes in hexadecimal, with or without colons between bytes.
    private static var digest: Kind<Bytes32> {
        Kind(
            .text("64 hexadecimal digits, with or without colons"),
            text: { Hex.encode($0.array) }
        ) { text throws(Fault) in
            let digits = text.filter { $0 != ":" }
            guard let bytes = Hex.decode(digits), let digest = Bytes32(bytes) else {
                throw Fault("is not a SHA-256 in hexadecimal (64 digits)")
            }
            return digest
        }
    }
}
