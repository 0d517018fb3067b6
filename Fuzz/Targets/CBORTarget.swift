import CBOR

extension FuzzTarget {
    /// The subset of CBOR that is read has one encoding for each value.
    static let cbor = FuzzTarget("cbor", byteCountMax: 1024) { bytes in
        let limits = CBORLimits(byteCountMax: 1024, depthMax: 8)
        guard let value = try? CBORValue.parse(bytes.span, limits: limits) else { return }
        try FuzzFinding.requireEqual(value.encoded, bytes, "another encoding of \(value)")
        var reader = try CBORReader(bytes.span, limits: limits)
        let item = try reader.readItem()
        try FuzzFinding.require(
            reader.isAtEnd && item.count == bytes.count, "an item that does not end where it ends")
    }
}
