import AndroidAttestation
import AndroidAttestationTesting
import Bytes
import Glibc

/// The Android phones of the demo, and the list of certificates that Google has withdrawn.
struct DemoPhones {
    let google: SimulatedGoogle
    let package: String
    let signingDigest: Bytes32
    /// The gateway's file of withdrawn certificates.
    let withdrawnPath: String
    /// The process of the gateway, which reads that file at a reload.
    let gateway: pid_t

    func profile(_ level: AndroidSecurityLevel) -> PhoneProfile {
        var profile = PhoneProfile(package: package, signingDigest: signingDigest)
        profile.securityLevel = level
        return profile
    }

    /// Withdraws the attestation certificate that all phones with keys in `level` share.
    func withdraw(_ level: AndroidSecurityLevel) throws {
        try LabFile.write(withdrawnPath, google.revocationList(withdrawing: level))
        guard kill(gateway, SIGHUP) == 0 else {
            throw LabError("the gateway's process \(gateway) is gone")
        }
    }
}
