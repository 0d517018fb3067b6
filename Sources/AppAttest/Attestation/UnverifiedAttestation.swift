import Bytes
import CBOR
import Crypto

/// The parts of an attestation object, none of them verified.
///
/// CBOR `{fmt: "apple-appattest", attStmt: {x5c: [leaf, intermediate], receipt}, authData}`. No
/// signature covers other members, such as the `cdHash` of iOS 18.5: they are tolerated and never
/// trusted.
struct UnverifiedAttestation {
    /// The certificates of `x5c` in DER, leaf first.
    let certificateChain: [[UInt8]]
    /// The receipt. The nonce does not cover it, so it may be damaged or missing in a genuine
    /// attestation.
    let receipt: [UInt8]?
    let authenticatorData: [UInt8]
    /// Names of top-level members that have no meaning here.
    let unknownMembers: [String]

    static let format: StaticString = "apple-appattest"
    /// The most certificates: a leaf, an intermediate and a root, and one to spare.
    static let certificateCountMax = 4

    init(
        parsing object: Span<UInt8>, byteCountMax: Int = AttestationVerifier.byteCountMax
    ) throws(Malformation) {
        var parts = Parts()
        do throws(CBORError) {
            var reader = try CBORReader(
                object, limits: CBORLimits(byteCountMax: byteCountMax, depthMax: 4))
            try parts.read(&reader)
        } catch {
            throw .cbor(error)
        }
        guard let isExpectedFormat = parts.isExpectedFormat else { throw .member("fmt") }
        guard isExpectedFormat else { throw .format }
        guard let certificateChain = parts.certificateChain else { throw .member("x5c") }
        guard !certificateChain.isEmpty, certificateChain.count <= Self.certificateCountMax else {
            throw .certificateCount(certificateChain.count)
        }
        guard let authenticatorData = parts.authenticatorData else { throw .member("authData") }
        self.certificateChain = certificateChain
        self.authenticatorData = authenticatorData
        receipt = parts.receipt
        unknownMembers = parts.unknownMembers
    }

    /// Decodes the certificates.
    func certificates() throws(Malformation) -> [Certificate] {
        var certificates: [Certificate] = []
        for (index, der) in certificateChain.enumerated() {
            guard let certificate = try? Certificate(der: der) else {
                throw .certificate(index: index)
            }
            certificates.append(certificate)
        }
        return certificates
    }

    /// The members found so far.
    private struct Parts {
        var isExpectedFormat: Bool?
        var certificateChain: [[UInt8]]?
        var receipt: [UInt8]?
        var authenticatorData: [UInt8]?
        var unknownMembers: [String] = []

        mutating func read(_ reader: inout CBORReader) throws(CBORError) {
            for _ in 0..<(try reader.readMapCount()) {
                guard let key = try reader.readTextKey() else {
                    try reader.readItem()
                    continue
                }
                if key.isText("fmt") {
                    isExpectedFormat = try reader.readText().isText(UnverifiedAttestation.format)
                } else if key.isText("attStmt") {
                    try readStatement(&reader)
                } else if key.isText("authData") {
                    authenticatorData = try reader.readBytes().array
                } else {
                    unknownMembers.append(String(decoding: key.array, as: UTF8.self))
                    try reader.readItem()
                }
            }
        }

        private mutating func readStatement(_ reader: inout CBORReader) throws(CBORError) {
            for _ in 0..<(try reader.readMapCount()) {
                let key = try reader.readTextKey()
                if let key, key.isText("x5c") {
                    var chain: [[UInt8]] = []
                    for _ in 0..<(try reader.readArrayCount()) {
                        chain.append(try reader.readBytes().array)
                    }
                    certificateChain = chain
                } else if let key, key.isText("receipt"), try reader.peekKind() == .bytes {
                    receipt = try reader.readBytes().array
                } else {
                    try reader.readItem()
                }
            }
        }
    }
}
