import Bytes
import Settings

/// Address blocks in the form in which a request's address is compared with them: two words and
/// two masks, no array.
struct AddressSet: Sendable {
    private struct Block: Sendable {
        let isIPv4: Bool
        let address: Bytes16
        let mask: Bytes16
    }

    private let blocks: [Block]

    init(_ blocks: [AddressBlock]) {
        self.blocks = blocks.compactMap { block in
            let isIPv4 = block.address.count == 4
            let bytes = isIPv4 ? Self.mappedPrefix + block.address : block.address
            guard let address = Bytes16(bytes.span) else { return nil }
            let bitCount = block.prefixBitCount + (isIPv4 ? 96 : 0)
            return Block(
                isIPv4: isIPv4, address: address,
                mask: Bytes16(
                    word0: Self.mask(min(64, bitCount)), word1: Self.mask(max(0, bitCount - 64))))
        }
    }

    /// True if `address`, an IPv4 one mapped into IPv6, lies in one of the blocks. A block of one
    /// family contains no address of the other.
    func contains(_ address: Bytes16) -> Bool {
        guard !blocks.isEmpty else { return false }
        let isIPv4 = address.isMappedIPv4
        return blocks.contains { block in
            block.isIPv4 == isIPv4
                && address.word0 & block.mask.word0 == block.address.word0
                && address.word1 & block.mask.word1 == block.address.word1
        }
    }

    private static let mappedPrefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]

    private static func mask(_ bitCount: Int) -> UInt64 {
        bitCount == 0 ? 0 : UInt64.max << UInt64(64 - bitCount)
    }
}

extension Bytes16 {
    var isMappedIPv4: Bool { word0 == 0 && word1 >> 32 == 0xFFFF }

    /// The subject that a limit counts: an IPv4 address, or the /64 network of an IPv6 one, of
    /// which a single client has 2^64 to choose from.
    var limitedNetwork: Bytes16 { isMappedIPv4 ? self : Bytes16(word0: word0, word1: 0) }

    /// The network of about one provider: a /16 of IPv4, or a /32 of IPv6, which is the least that
    /// registries allocate to a provider. Carriers hand out addresses from few of these.
    var providerNetwork: Bytes16 {
        isMappedIPv4
            ? Bytes16(word0: word0, word1: word1 & ~0xFFFF)
            : Bytes16(word0: word0 & ~0xFFFF_FFFF, word1: 0)
    }
}
