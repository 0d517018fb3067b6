public import Attestation
public import Bytes

extension PlatformName {
    /// Android's key attestation.
    public static let android = PlatformName("android")
}

/// The demands of an Android app on the keys that enrol.
///
/// The defaults are those of an operator who says nothing but the signing digests: a key in a TEE
/// or StrongBox of a phone that booted its maker's system and is locked.
public struct AndroidDemands: EnrolmentDemands {
    /// SHA-256 of every certificate that may have signed the app. A key of an app with another one
    /// is refused, and with no digest here every key is.
    public let signingDigests: Set<Bytes32>
    /// The least level, ``AndroidSecurityLevel/trustedEnvironment`` or
    /// ``AndroidSecurityLevel/strongBox``. Software counts as the former: it never enrols.
    public let securityLevel: AndroidSecurityLevel
    /// Keys of other systems than the maker's, such as GrapheneOS publishes, that may have verified
    /// the boot of a locked phone.
    public let bootKeys: Set<Bytes32>
    /// The most days since the first day of the patch level's month; nil takes any patch level.
    public let patchAgeMaxDays: Int?

    public init(
        signingDigests: [Bytes32], securityLevel: AndroidSecurityLevel = .trustedEnvironment,
        bootKeys: [Bytes32] = [], patchAgeMaxDays: Int? = nil
    ) {
        self.signingDigests = Set(signingDigests)
        self.securityLevel = max(securityLevel, .trustedEnvironment)
        self.bootKeys = Set(bootKeys)
        self.patchAgeMaxDays = patchAgeMaxDays
    }
}

extension AppIdentity {
    /// An Android app: its package name, and its demands.
    ///
    /// A build with a debug certificate belongs to an app of its own, whose only environment is
    /// development: nothing else tells the builds apart.
    public convenience init(
        android package: String, environments: Set<AttestEnvironment>, demands: AndroidDemands
    ) {
        self.init(
            id: package, platform: .android, environments: environments, demands: demands)
    }

    /// What an Android app demands; nil for apps of other platforms.
    public var androidDemands: AndroidDemands? {
        platform == .android ? demands as? AndroidDemands : nil
    }

    /// True if `text` has the form of a package name: two or more parts of letters, digits and
    /// underscores between periods, each beginning with a letter.
    public static func isAndroidPackageName(_ text: some StringProtocol) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count >= 2 && text.utf8.count <= 255
            && parts.allSatisfy { part in
                guard let first = part.first, isLetter(first) else { return false }
                return part.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
            }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20)
    }
}
