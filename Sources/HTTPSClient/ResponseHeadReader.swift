/// Collects the fields of an answer from libcurl's lines: of the last of several heads (there may
/// be a 100 before it), and no trailers.
struct ResponseHeadReader {
    private(set) var fields: [HTTPSField] = []
    private(set) var hasRetryAfter = false
    private var isComplete = false
    private var byteCount = 0
    private let byteCountMax: Int

    init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

    /// Takes a line. False if the lines together are longer than the limit.
    mutating func take(line: [UInt8]) -> Bool {
        byteCount += line.count
        guard byteCount <= byteCountMax else { return false }
        let text = line.prefix { $0 != 0x0D && $0 != 0x0A }
        if text.starts(with: "HTTP/".utf8) {
            fields.removeAll()
            hasRetryAfter = false
            isComplete = false
        } else if text.isEmpty {
            isComplete = true
        } else if !isComplete, let colon = text.firstIndex(of: 0x3A) {
            let name = String(decoding: text[..<colon], as: UTF8.self).lowercased()
            let value = text[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
            let end = (value.lastIndex { $0 != 0x20 && $0 != 0x09 }).map { $0 + 1 }
            fields.append(
                HTTPSField(
                    name, String(decoding: value[..<(end ?? value.startIndex)], as: UTF8.self)))
            if name == "retry-after" { hasRetryAfter = true }
        }
        return true
    }
}
