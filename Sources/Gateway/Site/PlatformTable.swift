import AndroidAttestation
import AppAttest
import Attestation
import Background
import Bytes
import Crypto
import EventLoop
import Settings

/// A platform as a gateway offers it. A new platform needs an entry in
/// ``all(_:)`` and a reader of its
/// apps in the settings, and nothing else here.
public struct PlatformEntry: Sendable {
    let name: PlatformName
    /// True if an assertion of the platform has a counter, which is 1 in a key's first one.
    let hasCounters: Bool
    /// The details of its enrolments that have metrics.
    let countedDetails: [CountedDetail]
    /// Makes the rules for the apps and roots of a configuration.
    let make: @Sendable (Settings) throws(ConfigurationFailure) -> any Platform

    /// The platforms of tests, which look up no withdrawn certificates.
    static let all = [appAttest(), android(revocations: { .off })]

    /// The platforms of a gateway, whose Android keys are judged by the list of `revocations`.
    static func all(_ revocations: RevocationState) -> [PlatformEntry] {
        [appAttest(), android { revocations.revocations(at: .now()) }]
    }

    /// Apple's App Attest. `macFullSecurityDigest`: see ``AttestationVerifier``.
    static func appAttest(
        macFullSecurityDigest: Bytes32 = LeafCertificate.macFullSecurityDigest
    ) -> PlatformEntry {
        PlatformEntry(
            name: .apple, hasCounters: true, countedDetails: AppAttestPlatform.countedDetails
        ) {
            settings throws(ConfigurationFailure) in
            let skew = settings.trust.clockSkew.components.seconds
            return AppAttestPlatform(
                attestations: AttestationVerifier(
                    roots: [AppleRoots.appAttestation] + (try extraRoots(settings.trust)),
                    apps: settings.apps.filter { $0.platform == .apple },
                    clockSkewSeconds: skew, macFullSecurityDigest: macFullSecurityDigest),
                receipts: try receiptVerifier(settings.trust), clockSkewSeconds: skew)
        }
    }

    /// Android's key attestation. `revocations`: what is known of withdrawn certificates.
    static func android(
        revocations: @escaping @Sendable () -> AndroidPlatform.Revocations
    ) -> PlatformEntry {
        PlatformEntry(
            name: .android, hasCounters: false, countedDetails: AndroidPlatform.countedDetails
        ) {
            settings throws(ConfigurationFailure) in
            AndroidPlatform(
                AndroidAttestationVerifier(
                    roots: AndroidRoots.published + (try androidRoots(settings.trust)),
                    apps: settings.apps.filter { $0.platform == .android },
                    clockSkewSeconds: settings.trust.clockSkew.components.seconds),
                revocations: revocations)
        }
    }

    private static func androidRoots(
        _ trust: TrustSettings
    ) throws(ConfigurationFailure) -> [AndroidRoot] {
        var roots: [AndroidRoot] = []
        for der in trust.androidRoots {
            guard let certificate = try? Certificate(der: der),
                let root = try? AndroidRoot(certificate)
            else {
                throw ConfigurationFailure(
                    "trust.android.extra_roots: not a certificate with an RSA, P-256 or P-384 key")
            }
            roots.append(root)
        }
        return roots
    }

    /// Verifies receipts, those of enrolments and those that Apple sends.
    static func receiptVerifier(
        _ trust: TrustSettings
    ) throws(ConfigurationFailure) -> ReceiptVerifier {
        ReceiptVerifier(roots: [AppleRoots.appleRootG3] + (try extraRoots(trust)))
    }

    /// The further roots that the operator trusts.
    private static func extraRoots(
        _ trust: TrustSettings
    ) throws(ConfigurationFailure) -> [Certificate] {
        var roots: [Certificate] = []
        for der in trust.extraRoots {
            guard let root = try? Certificate(der: der) else {
                throw ConfigurationFailure("trust.extra_roots: not an X.509 certificate")
            }
            roots.append(root)
        }
        return roots
    }
}

/// The platforms of a site.
struct PlatformTable: Sendable {
    private let platforms: [any Platform]

    init(
        _ entries: [PlatformEntry], _ settings: Settings
    ) throws(ConfigurationFailure) {
        var platforms: [any Platform] = []
        for entry in entries { platforms.append(try entry.make(settings)) }
        self.platforms = platforms
    }

    /// There are so few that a search is faster than a dictionary.
    subscript(_ name: PlatformName) -> (any Platform)? {
        for platform in platforms where platform.name == name { return platform }
        return nil
    }

    /// Throws if a request's evidence has the form of no platform.
    func checkForm(of evidence: Span<UInt8>) throws(PlatformFailure) {
        var first: PlatformFailure?
        for platform in platforms {
            do throws(PlatformFailure) {
                return try platform.checkForm(of: evidence)
            } catch {
                first = first ?? error
            }
        }
        if let first { throw first }
    }
}
