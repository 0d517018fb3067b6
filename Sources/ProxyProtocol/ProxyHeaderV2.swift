import Bytes

/// The binary form: signature, version and command, family, length, addresses, extensions (TLVs).
enum ProxyHeaderV2 {
    static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]
    /// The bytes before the addresses.
    static let fixedByteCount = 16

    static func parse(_ bytes: Span<UInt8>) -> ProxyHeader.Outcome {
        for index in 0..<min(bytes.count, signature.count) where bytes[index] != signature[index] {
            return .refused(.signature)
        }
        if bytes.count > 12, bytes[12] >> 4 != 2 { return .refused(.version) }
        if bytes.count > 12, bytes[12] & 0xF > 1 { return .refused(.command) }
        if bytes.count > 13, bytes[13] >> 4 > 3 || bytes[13] & 0xF > 2 {
            return .refused(.family)
        }
        guard bytes.count >= fixedByteCount else { return .incomplete(ownByteCount: bytes.count) }
        let byteCount = fixedByteCount + Int(bytes[14]) << 8 + Int(bytes[15])
        guard byteCount <= ProxyHeader.byteCountMax else { return .refused(.tooLong) }
        guard bytes.count >= byteCount else { return .incomplete(ownByteCount: bytes.count) }
        do throws(ProxyHeaderFault) {
            let source = try source(bytes.extracting(0..<byteCount))
            return .complete(ProxyHeader(source: source), byteCount: byteCount)
        } catch {
            return .refused(error)
        }
    }

    /// Parses `bytes`, which are the whole header.
    private static func source(
        _ bytes: Span<UInt8>
    ) throws(ProxyHeaderFault) -> ProxyHeader.Source {
        // LOCAL: "must discard the protocol block including the family which is ignored".
        guard bytes[12] & 0xF == 1 else { return .unstated }
        // A family without a transport, or a transport without a family, is not assigned.
        guard (bytes[13] >> 4 == 0) == (bytes[13] & 0xF == 0) else { throw .family }
        let addressByteCount: Int
        switch bytes[13] >> 4 {
        case 1: addressByteCount = 4
        case 2: addressByteCount = 16
        case 3:
            // Two paths of 108 bytes, which no rule can use.
            try checkExtensions(of: bytes, from: fixedByteCount + 216)
            return .unstated
        default: return .unstated
        }
        let end = fixedByteCount + 2 * addressByteCount + 4
        try checkExtensions(of: bytes, from: end)
        let address = bytes.extracting(fixedByteCount..<fixedByteCount + addressByteCount).array
        let port = UInt16(bytes[end - 4]) << 8 | UInt16(bytes[end - 3])
        return .unmapped(address, port: port)
    }

    /// Skips the extensions, which must fill the header to its last byte, and verifies the checksum
    /// if there is one.
    private static func checkExtensions(
        of bytes: Span<UInt8>, from start: Int
    ) throws(ProxyHeaderFault) {
        guard bytes.count >= start else { throw .length }
        var offset = start
        var checksumOffset: Int?
        while offset < bytes.count {
            guard bytes.count - offset >= 3 else { throw .extensionLength }
            let type = bytes[offset]
            let byteCount = Int(bytes[offset + 1]) << 8 + Int(bytes[offset + 2])
            offset += 3
            guard bytes.count - offset >= byteCount else { throw .extensionLength }
            if type == crc32cType {
                guard byteCount == 4, checksumOffset == nil else { throw .checksum }
                checksumOffset = offset
            }
            offset += byteCount
        }
        guard let checksumOffset else { return }
        var stated: UInt32 = 0
        for index in 0..<4 { stated = stated << 8 | UInt32(bytes[checksumOffset + index]) }
        guard crc32c(of: bytes, zeroing: checksumOffset) == stated else { throw .checksum }
    }

    private static let crc32cType: UInt8 = 0x03

    /// CRC32C (RFC 9260 appendix A) of the header, the four bytes of the checksum taken as zero.
    static func crc32c(of bytes: Span<UInt8>, zeroing checksumOffset: Int) -> UInt32 {
        var remainder: UInt32 = .max
        for index in bytes.indices {
            let isChecksum = index >= checksumOffset && index < checksumOffset + 4
            remainder ^= isChecksum ? 0 : UInt32(bytes[index])
            for _ in 0..<8 {
                remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0x82F6_3B78 : remainder >> 1
            }
        }
        return ~remainder
    }
}
