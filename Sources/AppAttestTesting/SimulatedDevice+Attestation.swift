import AppAttest
import Attestation
public import AttestationTesting
import Bytes
import CBOR
import Crypto

/// The receipt of a simulated attestation, which nothing else in the attestation covers.
public enum ReceiptForm: String, Sendable, CaseIterable {
    case genuine
    case damaged
    case absent
    /// The receipt is genuine, but of the kind that comes only from Apple's server.
    case exchanged
    /// The receipt is genuine, but of the other environment.
    case otherEnvironment
}

extension SimulatedDevice {
    /// An attestation of the device's key over `clientDataHash`, certified at `seconds` since 1970.
    ///
    /// - `fault`: the fault of the attestation.
    /// - `authenticatorDataByteCount`: uses only that many bytes of the authenticator data.
    public func attest(
        clientDataHash: [UInt8], by apple: SimulatedApple, at seconds: Int64,
        fault: AttestationFault? = nil, receipt: ReceiptForm = .genuine,
        authenticatorDataByteCount: Int? = nil
    ) throws(SimulationError) -> [UInt8] {
        var data = try attestationData(fault)
        if let authenticatorDataByteCount, authenticatorDataByteCount < data.count {
            data.removeLast(data.count - authenticatorDataByteCount)
        }
        let nonce = SHA256.hash(data + clientDataHash).array
        let leafKey: SubjectKey = fault == .otherLeafKey ? .p256(try newKey()) : .p256(publicKey)
        let request = LeafRequest(
            keyID: keyID, key: leafKey, seconds: seconds, nonce: nonce,
            extensions: system.leafExtensions(appID: appID))
        let chain = try apple.certify(request, fault)
        let receiptBytes = try makeReceipt(
            receipt, by: apple, leaf: chain.first ?? [], clientDataHash, at: seconds)
        return encode(chain: chain, receipt: receiptBytes, authenticatorData: data, fault)
    }

    private func makeReceipt(
        _ form: ReceiptForm, by apple: SimulatedApple, leaf: [UInt8], _ clientDataHash: [UInt8],
        at seconds: Int64
    ) throws(SimulationError) -> [UInt8]? {
        guard form != .absent else { return nil }
        var fields = SimulatedReceipt(
            kind: form == .exchanged ? .receipt : .attest, appID: appID, attestedKey: leaf,
            clientHash: clientDataHash, environment: environment, createdAt: seconds,
            riskMetric: form == .exchanged ? 1 : nil)
        if form == .otherEnvironment {
            fields.environment = environment == .production ? .development : .production
        }
        var receipt = try apple.receipt(fields)
        if form == .damaged { receipt[receipt.count / 2] ^= 1 }
        return receipt
    }

    private func newKey() throws(SimulationError) -> P256PublicKey {
        try SimulationError.wrap { () throws(CryptoError) in try .generate() as P256PrivateKey }
            .publicKey
    }

    private func attestationData(_ fault: AttestationFault?) throws(SimulationError) -> [UInt8] {
        let otherApp = fault == .otherApp ? SHA256.hash(Array("other".utf8)).array : nil
        let counter: UInt32 =
            switch fault {
            case .counterOne: 1
            case .counterHighBit: 1 << 31
            default: 0
            }
        var data = header(rpIDHash: otherApp, counter: counter)
        data += aaguid(fault).array
        var id = keyID.digest.array
        switch fault {
        case .otherCredentialID: id[31] ^= 1
        case .credentialIDShort: id.removeLast(16)
        default: break
        }
        data += fault == .credentialIDPastEnd ? [0xFF, 0xFF] : [0, UInt8(id.count)]
        data += id
        data += try credentialKey(fault)
        switch fault {
        case .extraByte: data.append(0)
        case .twoMaps: data += Self.anyMap + Self.anyMap
        case .extensionsNotAMap: data += CBORValue.text("map").encoded
        case .extensionsDuplicateKey:
            data += [0xA2] + Self.anyMap.dropFirst() + Self.anyMap.dropFirst()
        case .extensionsIndefinite: data += [0xBF] + Self.anyMap.dropFirst() + [0xFF]
        case .extensionsTooLong:
            let long = CBORValue.bytes([UInt8](repeating: 0, count: 1024))
            data += CBORValue.map([.init(.text("long"), long)]).encoded
        default: data += extensionMap
        }
        return data
    }

    private static let anyMap = CBORValue.map([
        .init(.text("apple_bundle_version_01"), .text("1"))
    ]).encoded

    private func aaguid(_ fault: AttestationFault?) -> Bytes16 {
        switch fault {
        case .aaguidUnknown: AAGUID.unknown
        case .otherEnvironment:
            environment == .production ? AAGUID.development : AAGUID.production
        default: environment == .production ? AAGUID.production : AAGUID.development
        }
    }

    private func credentialKey(_ fault: AttestationFault?) throws(SimulationError) -> [UInt8] {
        let point = fault == .otherCredentialKey ? try newKey() : publicKey
        var entries = [
            CBORValue.Entry(.integer(1), .integer(2)), CBORValue.Entry(.integer(3), .integer(-7)),
            CBORValue.Entry(.integer(-1), .integer(1)),
            CBORValue.Entry(.integer(-2), .bytes(point.x.array)),
            CBORValue.Entry(.integer(-3), .bytes(point.y.array)),
        ]
        switch fault {
        case .credentialKeyOnOtherCurve: entries[2].value = .integer(2)
        case .credentialKeyWithoutY: entries.removeLast()
        case .credentialKeyShortX: entries[3].value = .bytes(Array(point.x.array.dropFirst()))
        case .credentialKeyDuplicateLabel: entries[2].key = .integer(3)
        case .credentialKeyIndefinite:
            return [0xBF] + CBORValue.map(entries).encoded.dropFirst() + [0xFF]
        default: break
        }
        return CBORValue.map(entries).encoded
    }

    private func encode(
        chain: [[UInt8]], receipt: [UInt8]?, authenticatorData: [UInt8],
        _ fault: AttestationFault?
    ) -> [UInt8] {
        var statement: [CBORValue.Entry] = []
        if fault != .chainMissing {
            statement.append(.init(.text("x5c"), .array(chain.map { .bytes($0) })))
        }
        if let receipt { statement.append(.init(.text("receipt"), .bytes(receipt))) }
        let format = fault == .otherFormat ? "packed" : "apple-appattest"
        var entries: [CBORValue.Entry] = []
        if fault != .formatMissing { entries.append(.init(.text("fmt"), .text(format))) }
        entries.append(.init(.text("attStmt"), .map(statement)))
        if fault != .authenticatorDataMissing {
            entries.append(.init(.text("authData"), .bytes(authenticatorData)))
        }
        if system == .iOS18CDHash {
            let digest = SHA256.hash(Array(appID.utf8)).array
            entries.append(.init(.text("cdHash"), .bytes(digest)))
        }
        if fault == .duplicateMember { entries.append(.init(.text("fmt"), .text(format))) }
        let object = CBORValue.map(entries).encoded
        return switch fault {
        case .trailingByte: object + [0]
        case .indefiniteMap: [0xBF] + object.dropFirst() + [0xFF]
        case .notShortestLength: [0xB8, UInt8(entries.count)] + object.dropFirst()
        case .tagged: [0xD9, 0xD9, 0xF7] + object
        case .cutShort: object.dropLast()
        case .empty: []
        default: object
        }
    }
}

extension AAGUID {
    /// Sixteen bytes that no service of Apple uses.
    fileprivate static let unknown = Bytes16(
        word0: 0x6170_7061_7474_6573, word1: 0x7401_0000_0000_0000)
}
