import AndroidAttestationTesting
import Bytes
import Foundation
import GatewayTesting
import Testing

/// What a stranger's chain of certificates costs at most: rows of the table in
/// `docs/proof/threat-model.md`.
@Suite(
    "What one unproved Android chain costs",
    .enabled(if: BuiltProgram.isBuilt && CountedGateway.isInstalled))
struct UnprovedChainTests {
    /// Instructions, unoptimised, of an enrolment without a chain, and of each byte of its body.
    private static let emptyMax = 3_000_000
    private static let perByteMax = 2700
    /// Instructions, unoptimised, of the check of one link, on P-384 at most.
    private static let perCheckMax = 9_000_000
    /// The function that checks the signature of a link.
    private static let check =
        "$s6Crypto8TokenKeyC7isValid_7message6schemeSbs4SpanVys5UInt8VG_AkC6SchemeOtF"

    private let site: FaultSite
    private let counted: CountedGateway
    private let phone: SimulatedPhone

    init() throws {
        site = try FaultSite(admitsPhones: true)
        counted = try CountedGateway(
            site.configuration, directory: site.directory, isOneThread: true)
        phone = try .ofTests { $0.provisioning = .remote }
    }
}

extension UnprovedChainTests {
    private func challenge() throws -> String {
        var text = ""
        _ = try counted.cost {
            text = try counted.gateway.exchange("GET", "/attest/challenge").bodyText
        }
        return text
    }

    private func chain(_ challenge: String, fault: AndroidFault? = nil) throws -> [[UInt8]] {
        try phone.attestation(
            challenge: SimulatedPhone.attestationChallenge(of: Array(challenge.utf8)),
            by: site.google, at: Int64(Date().timeIntervalSince1970), fault: fault)
    }

    /// Has a chain refused with `code`, after exactly so many checks of signatures.
    private func expect(
        _ code: String, after checkCount: Int, _ name: String,
        _ make: (String) throws -> (challenge: String, chain: [[UInt8]])
    ) throws {
        let (challenge, chain) = try make(challenge())
        let body = phone.enrolmentBody(chain: chain, challenge: challenge)
        var answered = ""
        let dump = try counted.cost {
            answered = try counted.gateway.exchange("POST", "/attest/verify", body: body).outcome
        }
        print(
            "\(name): \(dump.instructions) instructions for \(body.count) bytes and",
            "\(dump.callCount(named: Self.check)) checks")
        #expect(answered == code, "\(name)")
        #expect(dump.callCount(named: Self.check) == checkCount, "\(name)")
        let most =
            Self.emptyMax + body.count * Self.perByteMax + checkCount * Self.perCheckMax
        #expect(dump.instructions <= most, "\(name)")
    }

    @Test("is its body, and one check a link if all of that needs none")
    func chains() throws {
        try expect("401 challenge_expired", after: 0, "another's challenge") {
            ("AA", try chain($0))
        }
        try expect("403 attestation_invalid", after: 0, "certificates of garbage") {
            let garbage = [UInt8](repeating: 0x30, count: 4096)
            return ($0, Array(repeating: garbage, count: 6))
        }
        try expect("403 attestation_invalid", after: 0, "another root") {
            ($0, try chain($0, fault: .otherRoot))
        }
        // The root may stand above itself, which makes the longest chain out of a genuine one.
        try expect("403 attestation_invalid", after: 5, "a forged leaf below five links") {
            let chain = try chain($0, fault: .leafSignatureDamaged)
            return ($0, chain + [chain[chain.count - 1]])
        }
    }
}
