import Bytes

/// Base64 in the form of tokens: the URL alphabet without padding (RFC 7515 section 2), and only
/// the canonical spelling of each value.
enum Base64URL {
    static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        for index in text.indices {
            switch text[index] {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: continue
            default: return nil
            }
        }
        return Base64.decode(text)
    }
}
