import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import CBOR
import Crypto
import DER

/// A device and its authorities, from which each row makes its path.
struct PathWorld: Sendable {
    static let shared = Result { try PathWorld() }

    let rootKey: ECPrivateKey
    let issuerKey: ECPrivateKey
    let deviceKey: P256PrivateKey
    let device: KeyID
    private let clientDataHash = SHA256.hash(Array("challenge".utf8)).array
    private let authenticatorData: [UInt8]
    private let nonce: [UInt8]

    init() throws {
        rootKey = try .generate(.p384)
        issuerKey = try .generate(.p384)
        deviceKey = try .generate()
        let device = try SimulatedDevice(appID: simulatedAppID, key: deviceKey)
        self.device = device.keyID
        let object = try device.attest(
            clientDataHash: clientDataHash, by: SimulatedAttestationTests.shared.get(),
            at: simulatedNow, receipt: .absent)
        guard
            case .map(let members) = try CBORValue.parse(
                object.span, limits: CBORLimits(byteCountMax: 1 << 16, depthMax: 4)),
            case .bytes(let data)? = members.first(where: { $0.key == .text("authData") })?.value
        else { throw PathError("an attestation has no authData") }
        authenticatorData = data
        nonce = SHA256.hash(data + clientDataHash).array
    }

    /// A root, an intermediate and a leaf like Apple's.
    func draft() throws -> PathDraft {
        let rootName = PathDER.name("Root")
        let issuerName = PathDER.name("Issuer")
        let root = RawCertificate(
            issuer: rootName, subject: rootName, info: try PathKey.own(rootKey).info(),
            extensions: [
                PathDER.constraints(isCA: true), PathDER.usage(PathDER.signsCertificates),
            ], signer: .own(rootKey))
        let issuer = try authority(issuerName, .own(issuerKey), below: root, by: .own(rootKey), 0)
        return PathDraft(root: root, chain: [issuer], leaf: try leaf(below: issuer))
    }

    func authority(
        _ name: [UInt8], _ key: PathKey, below issuer: RawCertificate, by signer: PathKey,
        _ pathLength: UInt8? = nil
    ) throws -> RawCertificate {
        RawCertificate(
            issuer: issuer.subject, subject: name, info: try key.info(),
            extensions: [
                PathDER.constraints(isCA: true, pathLength),
                PathDER.usage(PathDER.signsCertificates),
            ], signer: signer)
    }

    private func leaf(below issuer: RawCertificate) throws -> RawCertificate {
        let value = DERWriter.sequence([DERWriter.context(1, DERWriter.octetString(nonce))])
        let oid: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x08, 0x02]
        return RawCertificate(
            issuer: issuer.subject, subject: PathDER.name(Hex.encode(device.digest.array)),
            info: try PathKey.own(deviceKey.key).info(),
            extensions: [
                PathDER.constraints(isCA: false), PathDER.usage(PathDER.signsData),
                PathDER.item(oid, value),
            ], signer: .own(issuerKey))
    }

    // MARK: the verifiers

    /// What the gateway says of an attestation with these certificates.
    func attestation(_ path: MintedPath) throws -> PathVerdict {
        let object = CBORValue.map([
            .init(.text("fmt"), .text("apple-appattest")),
            .init(
                .text("attStmt"),
                .map([.init(.text("x5c"), .array(path.certificates.map { .bytes($0) }))])),
            .init(.text("authData"), .bytes(authenticatorData)),
        ]).encoded
        guard let roots = try? path.roots.map({ try Certificate(der: $0) }) else {
            return .malformed
        }
        let verifier = AttestationVerifier(
            roots: roots, apps: [AppIdentity(id: simulatedAppID, environments: [.production])],
            clockSkewSeconds: 0)
        do throws(AttestationFailure) {
            _ = try verifier.verify(
                object.span, clientDataHash: clientDataHash, keyID: device, at: path.seconds)
            return .accepted
        } catch {
            switch error {
            case .malformed(.certificateCount): return .count
            case .malformed: return .malformed
            case .certificateExpired: return .expired
            case .certificateNotYetValid: return .early
            case .certificateChain(let reason), .certificateProfile(let reason):
                return .refused(reason)
            default: return .refused(error.description)
            }
        }
    }

    /// What the gateway says of a receipt that the leaf signed and that carries these certificates.
    func receipt(_ path: MintedPath, by key: PathKey? = nil) throws -> PathVerdict {
        let content = SimulatedReceipt(
            kind: .attest, appID: simulatedAppID, attestedKey: deviceKey.publicKey.x963,
            clientHash: [1], environment: .production, createdAt: path.seconds
        ).content
        var message = RawSignedData(content: content, certificates: path.certificates)
        message.signers = [
            RawSigner(issuer: path.leafIssuer, serial: path.leafSerial, key: key ?? path.leafKey)
        ]
        guard let roots = try? path.roots.map({ try Certificate(der: $0) }) else {
            return .malformed
        }
        return try receipt(message.ber(), roots: roots, at: path.seconds)
    }

    func receipt(
        _ message: [UInt8], roots: [Certificate], at seconds: Int64
    ) throws -> PathVerdict {
        do throws(ReceiptFailure) {
            _ = try ReceiptVerifier(roots: roots).verify(
                message, appID: simulatedAppID, publicKey: deviceKey.publicKey,
                environment: .production, creation: seconds - 1...seconds + 1)
            return .accepted
        } catch {
            switch error {
            case .cmsInvalid(let reason):
                let isUnread = ["certificate", "encoding"].contains {
                    reason.hasPrefix("malformed CMS: malformed \($0)")
                        || reason.hasPrefix("malformed CMS: \($0)")
                }
                return isUnread ? .malformed : .refused(reason)
            case .certificateChain(let reason): return .refused(reason)
            default: return .refused(error.description)
            }
        }
    }
}

/// A verdict of the gateway, with its reason.
enum PathVerdict: Hashable, CustomStringConvertible {
    case accepted
    case refused(String)

    static let malformed = Self.refused("malformed")
    static let count = Self.refused("too many certificates, or none")
    static let expired = Self.chain(.expired)
    static let early = Self.chain(.notYetValid)
    static let untrusted = Self.chain(.untrusted)
    static let signature = Self.chain(.badSignature)
    static let notCA = Self.chain(.notCA)
    static let pathLength = Self.chain(.pathLength)
    static let algorithm = Self.chain(.weakAlgorithm)
    static let key = Self.chain(.otherKey)
    static let issuing = Self.refused("it may issue certificates")

    static func chain(_ error: CertificateChainError) -> Self { .refused("\(error)") }

    var description: String {
        switch self {
        case .accepted: "accepted"
        case .refused(let reason): reason
        }
    }
}

/// The certificates of a row before they are signed.
struct PathDraft {
    var root: RawCertificate
    /// The issuers that the object carries, the leaf's first.
    var chain: [RawCertificate]
    var leaf: RawCertificate
    /// More roots that are trusted.
    var otherRoots: [RawCertificate] = []
    var isRootTrusted = true
    /// The key with which a receipt is signed, where it is not the device's.
    var leafKey: PathKey?
    var seconds = simulatedNow
    /// Changes the certificates, leaf first, once they are signed.
    var rewrite: (inout [[UInt8]]) -> Void = { _ in }

    var issuer: RawCertificate {
        get { chain[0] }
        set { chain[0] = newValue }
    }

    func minted(_ world: PathWorld) throws -> MintedPath {
        var certificates = try ([leaf] + chain).map { try $0.der() }
        rewrite(&certificates)
        return MintedPath(
            certificates: certificates,
            roots: try ((isRootTrusted ? [root] : []) + otherRoots).map { try $0.der() },
            seconds: seconds, leafIssuer: leaf.issuer, leafSerial: leaf.serial,
            leafKey: leafKey ?? .own(world.deviceKey.key))
    }
}

struct MintedPath {
    /// DER, leaf first.
    let certificates: [[UInt8]]
    let roots: [[UInt8]]
    /// The moment of the verdict, since 1970.
    let seconds: Int64
    let leafIssuer: [UInt8]
    let leafSerial: [UInt8]
    let leafKey: PathKey
}
