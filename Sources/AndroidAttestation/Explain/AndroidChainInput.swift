import Bytes
import JSON

/// Reads a chain from the files that a developer has at hand.
public enum AndroidChainInput {
    /// The longest file. A chain of six certificates of 4 KiB has 33 KB in base64.
    public static let byteCountMax = 1024 * 1024
    /// The most certificates that are read; any chain of more than six is refused anyway.
    public static let certificateCountMax = 64

    private static let begin = Array("-----BEGIN CERTIFICATE-----".utf8)
    private static let end = Array("-----END CERTIFICATE-----".utf8)

    /// The certificates in DER, leaf first. Nil for a file that has none.
    ///
    /// The file is PEM, a JSON array of base64, or a JSON object with such an array as its member
    /// `chain`, such as the body of an enrolment.
    public static func chain(_ file: [UInt8]) -> [[UInt8]]? {
        guard file.count <= byteCountMax else { return nil }
        let chain = json(file) ?? pem(file)
        return chain.flatMap { (1...certificateCountMax).contains($0.count) ? $0 : nil }
    }

    private static func json(_ file: [UInt8]) -> [[UInt8]]? {
        guard let value = try? JSONValue.parse(file.span, byteCountMax: byteCountMax),
            let elements = value.arrayValue ?? value["chain"]?.arrayValue
        else { return nil }
        var chain: [[UInt8]] = []
        for element in elements {
            guard let text = element.stringValue, let der = Base64.decode(text) else { return nil }
            chain.append(der)
        }
        return chain
    }

    /// The contents of the blocks of certificates. They are not parsed, because OpenSSL refuses
    /// some that phones write.
    private static func pem(_ file: [UInt8]) -> [[UInt8]]? {
        var chain: [[UInt8]] = []
        var block: [UInt8]?
        for line in file.split(separator: UInt8(ascii: "\n")) {
            let text = line.filter { $0 > 0x20 || $0 == 0x20 }
            if text.elementsEqual(begin) {
                guard block == nil else { return nil }
                block = []
            } else if text.elementsEqual(end) {
                guard let digits = block, let der = Base64.decode(digits.span) else { return nil }
                chain.append(der)
                block = nil
            } else if block != nil {
                block?.append(contentsOf: text.filter { $0 != 0x20 })
            }
        }
        return block == nil ? chain : nil
    }
}
