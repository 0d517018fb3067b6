import Bytes

extension AddressBlock: CustomStringConvertible {
    public var description: String { "\(IPAddress.text(address))/\(prefixBitCount)" }

    /// The block with the bits after the prefix cleared.
    var masked: AddressBlock {
        var masked = self
        for index in masked.address.indices {
            let keptBitCount = max(0, min(8, prefixBitCount - index * 8))
            masked.address[index] &= UInt8(truncatingIfNeeded: 0xFF00 >> keptBitCount)
        }
        return masked
    }
}

extension Kind where Value == AddressBlock {
    /// A CIDR block, or one address.
    static var addressBlock: Kind {
        Kind(.text("address block"), text: \.description) { text throws(Fault) in
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count <= 2, let address = IPAddress.bytes(String(parts[0])) else {
                throw Fault("is not an address block: write one like 10.0.0.0/8 or fd00::/8")
            }
            var block = AddressBlock(address: address, prefixBitCount: address.count * 8)
            if parts.count == 2 {
                guard let bitCount = Quantity.count(String(parts[1])), bitCount <= address.count * 8
                else {
                    throw Fault("has a prefix length outside 0 to \(address.count * 8)")
                }
                block.prefixBitCount = bitCount
            }
            guard block.masked == block else {
                throw Fault("has bits set behind its prefix: write \(block.masked)")
            }
            return block
        }
    }
}
