import AndroidAttestation
public import AttestationTesting
import Bytes
public import JSON

extension PhoneProfile {
    /// The state to make the same phone again.
    public var state: JSONValue {
        .object([
            "packages": .array(packages.map { .string($0) }),
            "package_version": .integer(packageVersion),
            "signing_digests": .array(signingDigests.map { .string(Hex.encode($0.array)) }),
            "security_level": .string(securityLevel.name),
            "provisioning": .string(provisioning.rawValue),
            "certificates_issued": .integer(Int64(clamping: certificatesIssued)),
            "attestation_version": .integer(attestationVersion),
            "boot_state": .string(bootState.name), "is_locked": .bool(isLocked),
            "boot_key": .string(Hex.encode(bootKey.array)),
            "os_version": .integer(osVersion), "os_patch_level": .integer(osPatchLevel),
            "purposes": .array(purposes.map { .integer($0) }),
            "digests": .array(digests.map { .integer($0) }),
            "quirks": .array(quirks.map(\.rawValue).sorted().map { .string($0) }),
        ])
    }

    public init(state: JSONValue) throws(SimulationError) {
        let reader = StateReader(state)
        packages = try reader.list("packages", \.stringValue)
        signingDigests = try reader.list("signing_digests") { value in
            value.stringValue.flatMap { StateReader.digest($0) }
        }
        packageVersion = try reader.integer("package_version")
        guard let level = AndroidSecurityLevel(name: try reader.text("security_level")) else {
            throw .state("security_level")
        }
        securityLevel = level
        provisioning = try reader.choice("provisioning")
        certificatesIssued = UInt64(clamping: try reader.integer("certificates_issued"))
        attestationVersion = try reader.integer("attestation_version")
        let name = try reader.text("boot_state")
        guard let state = RootOfTrust.BootState.allCases.first(where: { $0.name == name }) else {
            throw .state("boot_state")
        }
        bootState = state
        isLocked = try reader.bool("is_locked")
        bootKey = try reader.digest("boot_key")
        osVersion = try reader.integer("os_version")
        osPatchLevel = try reader.integer("os_patch_level")
        purposes = try reader.list("purposes", \.integerValue)
        digests = try reader.list("digests", \.integerValue)
        quirks = Set(
            try reader.list("quirks") { value in
                value.stringValue.flatMap { PhoneQuirk(rawValue: $0) }
            })
    }
}
