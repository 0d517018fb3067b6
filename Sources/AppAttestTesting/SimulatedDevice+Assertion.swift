public import AttestationTesting
import Bytes
import CBOR
import Crypto

extension SimulatedDevice {
    /// An assertion over `clientDataHash` (normally 32 bytes), with the next counter.
    ///
    /// - `fault`: the fault of the assertion.
    /// - `authenticatorDataByteCount`: signs only that many bytes of the authenticator data.
    public func assert(
        clientDataHash: [UInt8], fault: AssertionFault? = nil,
        authenticatorDataByteCount: Int? = nil
    ) throws(SimulationError) -> [UInt8] {
        counter &+= 1
        return try assert(
            clientDataHash: clientDataHash, counter: counter, fault: fault,
            authenticatorDataByteCount: authenticatorDataByteCount)
    }

    /// Makes an assertion with a counter of the caller's choice, for replays and reordered
    /// requests.
    public func assert(
        clientDataHash: [UInt8], counter: UInt32, fault: AssertionFault? = nil,
        authenticatorDataByteCount: Int? = nil
    ) throws(SimulationError) -> [UInt8] {
        let otherApp = fault == .otherApp ? SHA256.hash(Array("other".utf8)).array : nil
        var data = header(rpIDHash: otherApp, counter: counter)
        data += fault.flatMap { Self.trailing($0) } ?? extensionMap
        if let authenticatorDataByteCount, authenticatorDataByteCount < data.count {
            data.removeLast(data.count - authenticatorDataByteCount)
        }
        let signature = try sign(data, clientDataHash, fault)
        if fault == .counterChangedAfterSigning { data[36] &+= 1 }
        return Self.encode(signature: signature, authenticatorData: data, fault)
    }

    private func sign(
        _ data: [UInt8], _ clientDataHash: [UInt8], _ fault: AssertionFault?
    ) throws(SimulationError) -> [UInt8] {
        var message = data + clientDataHash
        if fault == .otherClientData { message[message.count - 1] ^= 1 }
        // Signing hashes the whole message once, so the nonce is the digest then.
        if fault != .nonceAsDigest { message = SHA256.hash(message).array }
        let signature = try SimulationError.wrap { () throws(CryptoError) in
            let signer = fault == .otherKey ? try P256PrivateKey.generate() : key
            return try signer.sign(message)
        }
        switch fault {
        case .emptySignature: return []
        case .signatureTrailingByte: return signature + [0]
        case .signatureNotDER: return [0x30, 0x81] + signature.dropFirst()
        case .rawSignature: return Self.raw(signature)
        default: return signature
        }
    }

    /// The two numbers of a DER signature, as 32 bytes each.
    private static func raw(_ signature: [UInt8]) -> [UInt8] {
        var numbers: [UInt8] = []
        var index = 2
        while index + 2 <= signature.count {
            let byteCount = Int(signature[index + 1])
            let number = signature[(index + 2)...].prefix(byteCount).drop { $0 == 0 }
            numbers += [UInt8](repeating: 0, count: max(0, 32 - number.count)) + number
            index += 2 + byteCount
        }
        return numbers
    }

    /// The bytes that a fault puts after the 37 fixed ones, or nil for none.
    private static func trailing(_ fault: AssertionFault) -> [UInt8]? {
        let map = SimulatedSystem.iOS27.extensionMap(bundleVersion: "1", category: 4)
        switch fault {
        case .extraByte: return [0]
        case .extraText: return Array("this is not a map but thirty-eight byte".utf8)
        case .twoMaps: return map + map
        case .mapThenByte: return map + [0]
        case .extensionsNotAMap: return CBORValue.array([.unsigned(1)]).encoded
        case .extensionsIndefinite: return [0xBF] + map.dropFirst() + [0xFF]
        case .extensionsDuplicateKey:
            return CBORValue.map([
                .init(.text("apple_bundle_version_01"), .text("1")),
                .init(.text("apple_bundle_version_01"), .text("2")),
            ]).encoded
        case .extensionsTooDeep:
            let nested = (0..<4).reduce(CBORValue.null) { value, _ in .array([value]) }
            return CBORValue.map([.init(.text("deep"), nested)]).encoded
        case .extensionsTooLong:
            let long = CBORValue.bytes([UInt8](repeating: 0, count: 1024))
            return CBORValue.map([.init(.text("long"), long)]).encoded
        case .categoryTooShort:
            return CBORValue.map([
                .init(.text("apple_validation_category_01"), .bytes([4, 0, 0]))
            ]).encoded
        case .versionNotText:
            return CBORValue.map([.init(.text("apple_bundle_version_01"), .unsigned(1))]).encoded
        default: return nil
        }
    }

    private static func encode(
        signature: [UInt8], authenticatorData: [UInt8], _ fault: AssertionFault?
    ) -> [UInt8] {
        var encoder = CBOREncoder(capacity: authenticatorData.count + 128)
        switch fault {
        case .empty: return []
        case .notAMap: return CBORValue.bytes(authenticatorData).encoded
        case .indefiniteMap: encoder.appendRaw([0xBF])
        case .duplicateMember: encoder.appendMapHead(count: 3)
        case .notShortestLength: encoder.appendRaw([0xB8, 0x02])
        case .signatureMissing, .authenticatorDataMissing: encoder.appendMapHead(count: 1)
        case .tagged: encoder.appendRaw([0xD9, 0xD9, 0xF7, 0xA2])
        default: encoder.appendMapHead(count: 2)
        }
        if fault != .signatureMissing {
            encoder.appendText("signature")
            if fault == .signatureIsText {
                encoder.appendText("signature")
            } else {
                encoder.appendBytes(signature)
            }
        }
        if fault != .authenticatorDataMissing {
            encoder.appendText("authenticatorData")
            encoder.appendBytes(authenticatorData)
        }
        switch fault {
        case .indefiniteMap: encoder.appendRaw([0xFF])
        case .duplicateMember:
            encoder.appendText("signature")
            encoder.appendBytes(signature)
        case .trailingByte: encoder.appendRaw([0])
        default: break
        }
        return fault == .cutShort ? encoder.bytes.dropLast() : encoder.bytes
    }
}
