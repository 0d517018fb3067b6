import AppAttest
import AppAttestTesting
import Attestation
import Crypto
import DER
import Foundation
import GatewayTesting
import Testing

/// A shape of CMS, after an example of RFC 4134 or an option of `openssl cms`.
struct CMSRow: Sendable, CustomTestStringConvertible {
    let name: String
    /// Nil where the gateway accepts it.
    let refusal: String?
    let make: @Sendable (CMSWorld) throws -> [UInt8]

    init(
        _ name: String, _ refusal: String?, _ make: @escaping @Sendable (CMSWorld) throws -> [UInt8]
    ) {
        self.name = name
        self.refusal = refusal
        self.make = make
    }

    /// What the command makes with these options of a signature.
    init(_ name: String, _ refusal: String?, options: [String]) {
        self.init(name, refusal) { world in
            try world.command(["-sign", "-nodetach"] + world.signer + options)
        }
    }

    var testDescription: String { name }
}

/// A receipt's content, a signer like Apple's and the files from which the command signs it.
struct CMSWorld: Sendable {
    static let shared = Result { try CMSWorld() }

    let world: PathWorld
    let path: MintedPath
    let content: [UInt8]
    let folder: ScratchDirectory

    init() throws {
        world = try PathWorld.shared.get()
        path = try world.draft().minted(world)
        content =
            SimulatedReceipt(
                kind: .attest, appID: simulatedAppID, attestedKey: world.deviceKey.publicKey.x963,
                clientHash: [1], environment: .production, createdAt: path.seconds
            ).content
        folder = try ScratchDirectory()
        try write("content", content)
        try write("leaf", try Certificate(der: path.certificates[0]).pem())
        try write("issuer", try Certificate(der: path.certificates[1]).pem())
        try write("key", try world.deviceKey.pem())
        let rsa = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=RSA"]
        _ = try PathKey.openssl(rsa + ["-keyout", file("rsa-key"), "-out", file("rsa")])
    }

    func file(_ name: String) -> String { "\(folder.path)/\(name)" }

    private func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(filePath: file(name)))
    }

    var signer: [String] {
        ["-signer", file("leaf"), "-inkey", file("key"), "-certfile", file("issuer")]
    }

    var rsaSigner: [String] { ["-signer", file("rsa"), "-inkey", file("rsa-key")] }

    /// What `openssl cms` makes of the content, in DER or BER.
    func command(_ options: [String]) throws -> [UInt8] {
        let text = try PathKey.openssl(
            ["cms", "-binary", "-in", file("content"), "-outform", "PEM"] + options)
        return try PathKey.block(text)
    }

    /// A message of the content with one signer.
    func message(_ edit: (inout RawSignedData, inout RawSigner) -> Void = { _, _ in }) throws
        -> [UInt8]
    {
        var message = RawSignedData(content: content, certificates: path.certificates)
        var signer = RawSigner(
            issuer: path.leafIssuer, serial: path.leafSerial, key: path.leafKey)
        edit(&message, &signer)
        if message.signers.isEmpty { message.signers = [signer] }
        return try message.ber()
    }
}

@Suite("Shapes of CMS after RFC 4134 and openssl cms")
struct CMSShapeTests {}

extension CMSShapeTests {
    private static let notOne = "malformed CMS: not exactly one signer"
    private static let algorithm = "a CMS algorithm is not acceptable"
    private static let otherType = "malformed CMS: not SignedData"
    private static let otherContent = "malformed CMS: content is not of type data"
    private static let noCertificates = "malformed CMS: no certificates"

    private static let contentType: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 3]
    private static let countersignature: [UInt8] = [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 6,
    ]

    private static let examples: [CMSRow] = [
        CMSRow("RFC 4134 3.1 the bare content", "malformed") { $0.content },
        CMSRow("RFC 4134 4.1 basic, without attributes", nil) { try $0.message() },
        CMSRow("RFC 4134 4.2 an RSA signer", algorithm) {
            try $0.command(["-sign", "-nodetach", "-noattr"] + $0.rsaSigner)
        },
        CMSRow("RFC 4134 4.3 detached content", "malformed CMS: no content") {
            try $0.message { message, _ in message.content = nil }
        },
        CMSRow("RFC 4134 4.4 with signed and unsigned attributes", nil) { world in
            let other = RawSigner(
                issuer: world.path.leafIssuer, serial: world.path.leafSerial,
                key: world.path.leafKey)
            let value = try other.info(world.content)
            return try world.message { _, signer in
                signer.unsignedAttributes = [
                    DERWriter.sequence([
                        DERWriter.element(0x06, countersignature), DERWriter.set([value]),
                    ])
                ]
            }
        },
        CMSRow("RFC 4134 4.5 two signers", notOne) {
            try $0.command(["-sign", "-nodetach"] + $0.signer + $0.rsaSigner)
        },
        CMSRow("RFC 4134 4.6 two signers with one key", notOne) {
            try $0.message { message, signer in message.signers = [signer, signer] }
        },
        CMSRow("RFC 4134 4.8 S/MIME multipart", "malformed") {
            try Array(
                PathKey.openssl(["cms", "-sign", "-in", $0.file("content")] + $0.signer).utf8)
        },
        CMSRow("RFC 4134 4.9 content of another type", otherContent) {
            try $0.message { message, _ in message.contentType = RawSignedData.signedData }
        },
        CMSRow("RFC 4134 4.11 certificates alone", "malformed CMS: no content") {
            let text = try PathKey.openssl(
                ["crl2pkcs7", "-nocrl", "-certfile", $0.file("leaf")])
            return try PathKey.block(text)
        },
        CMSRow("a signed attribute without the digest", "the CMS signature is not the signer's") {
            try $0.message { _, signer in
                signer.attributes = [
                    DERWriter.sequence([
                        DERWriter.element(0x06, contentType),
                        DERWriter.set([DERWriter.element(0x06, RawSignedData.data)]),
                    ])
                ]
            }
        },
        CMSRow("a byte behind the message", "malformed CMS: bytes behind it") {
            try $0.message() + [0]
        },
    ]

    private static let options: [CMSRow] = [
        CMSRow("cms -sign", nil, options: []),
        CMSRow("cms -sign -noattr", nil, options: ["-noattr"]),
        CMSRow("cms -sign -nosmimecap", nil, options: ["-nosmimecap"]),
        CMSRow("cms -sign -md sha384", nil, options: ["-md", "sha384"]),
        CMSRow("cms -sign -md sha512", nil, options: ["-md", "sha512"]),
        CMSRow("cms -sign -md sha1", algorithm, options: ["-md", "sha1"]),
        CMSRow("cms -sign -cades", nil, options: ["-cades"]),
        CMSRow("cms -sign -stream -indef", nil, options: ["-stream", "-indef"]),
        CMSRow("cms -sign -nocerts", "malformed", options: ["-nocerts"]),
        CMSRow(
            "cms -sign -keyid without a key identifier", "certificate has no keyid",
            options: ["-keyid"]),
        CMSRow(
            "cms -sign -econtent_type pkcs7-signedData", otherContent,
            options: ["-econtent_type", "pkcs7-signedData"]),
        CMSRow("cms -sign, RSA-PSS", algorithm) {
            try $0.command(
                ["-sign", "-nodetach"] + $0.rsaSigner + ["-keyopt", "rsa_padding_mode:pss"])
        },
        CMSRow("cms -digest_create", otherType) { try $0.command(["-digest_create"]) },
        CMSRow("cms -data_create", otherType) { try $0.command(["-data_create"]) },
        CMSRow("cms -EncryptedData_encrypt", otherType) {
            let key = String(repeating: "01", count: 16)
            return try $0.command(["-EncryptedData_encrypt", "-secretkey", key, "-aes128"])
        },
        CMSRow("cms -encrypt", otherType) { try $0.command(["-encrypt", $0.file("rsa")]) },
        CMSRow("cms -encrypt -aes-128-gcm", otherType) {
            try $0.command(["-encrypt", "-aes-128-gcm", $0.file("rsa")])
        },
    ]

    @Test(
        "are accepted as receipts, or refused, each as its row says", arguments: examples + options)
    func row(_ row: CMSRow) throws {
        let world = try CMSWorld.shared.get()
        let message: [UInt8]
        do {
            message = try row.make(world)
        } catch let error as PathError {
            // The command itself refuses to make this one.
            #expect(error.description.contains(row.refusal ?? "?"), "\(error)")
            return
        }
        var refusal: String?
        do throws(ReceiptFailure) {
            _ = try ReceiptVerifier(
                roots: world.path.roots.compactMap { try? Certificate(der: $0) }
            ).verify(
                message, appID: simulatedAppID, publicKey: world.world.deviceKey.publicKey,
                environment: .production)
        } catch {
            refusal = error.description
        }
        if let expected = row.refusal {
            #expect(refusal?.contains(expected) == true, "\(refusal ?? "accepted")")
        } else {
            #expect(refusal == nil)
        }
    }
}
