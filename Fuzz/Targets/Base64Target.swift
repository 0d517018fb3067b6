import Bytes
import GatewayTokens

extension FuzzTarget {
    /// Bytes have one spelling in each alphabet, with and without padding, and no other is read.
    static let base64 = FuzzTarget("base64", byteCountMax: 512) { bytes in
        for text in [Base64.encodeBytes(bytes), Base64.encodeURLBytes(bytes)] {
            try FuzzFinding.requireEqual(
                Base64.decode(text.span), bytes, "decoded otherwise than encoded")
        }
        _ = ChallengeSealer.hasTokenForm(bytes.span)
        if let decoded = Base64.decode(bytes.span) {
            let text = bytes.filter { $0 != UInt8(ascii: "=") }
            let spellings = [Base64.encodeBytes(decoded), Base64.encodeURLBytes(decoded)].map {
                $0.filter { $0 != UInt8(ascii: "=") }
            }
            try FuzzFinding.require(spellings.contains(text), "a third spelling")
        }
        let hex = Hex.encode(bytes)
        try FuzzFinding.requireEqual(Hex.decode(hex), bytes, "hexadecimal decoded otherwise")
    }
}
