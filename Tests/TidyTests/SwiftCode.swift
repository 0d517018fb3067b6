/// Swift source with every comment and string literal blanked out, so that searching it finds code.
///
/// Line breaks stay, so line numbers do too. Interpolated code is blanked with its literal.
struct SwiftCode: Sendable {
    private(set) var lines: [String] = []
    /// Where a block comment begins (1-based).
    private(set) var blockCommentLines: [Int] = []

    init(_ text: String) {
        var scanner = LiteralScanner(Array(text.utf8))
        let code = scanner.blanked()
        blockCommentLines = scanner.blockCommentLines
        lines = String(decoding: code, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}

/// Walks Swift text and knows where code ends and a comment or a literal begins.
private struct LiteralScanner {
    private let bytes: [UInt8]
    private var output: [UInt8] = []
    private var index = 0
    private var lineNumber = 1
    private(set) var blockCommentLines: [Int] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        output.reserveCapacity(bytes.count)
    }

    mutating func blanked() -> [UInt8] {
        while index < bytes.count {
            if starts(with: "//") {
                while index < bytes.count, bytes[index] != 0x0A { blank() }
            } else if starts(with: "/*") {
                blockCommentLines.append(lineNumber)
                while index < bytes.count, !starts(with: "*/") { blank() }
                blank(2)
            } else if let poundCount = literalPoundCount() {
                skipLiteral(poundCount: poundCount)
            } else {
                keep()
            }
        }
        return output
    }

    private func starts(with text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard index + count <= bytes.count, bytes[index] == text.utf8Start[0] else { return false }
        return (1..<count).allSatisfy { bytes[index + $0] == text.utf8Start[$0] }
    }

    /// How many `#` open the literal that begins here; nil where none begins.
    private func literalPoundCount() -> Int? {
        var end = index
        while end < bytes.count, bytes[end] == 0x23 { end += 1 }
        guard end < bytes.count, bytes[end] == 0x22 else { return nil }
        return end - index
    }

    private mutating func skipLiteral(poundCount: Int) {
        blank(poundCount)
        let quoteCount = starts(with: "\"\"\"") ? 3 : 1
        blank(quoteCount)
        while index < bytes.count {
            if endsLiteral(quoteCount: quoteCount, poundCount: poundCount) {
                blank(quoteCount + poundCount)
                return
            }
            if isEscape(poundCount: poundCount) {
                blank(1 + poundCount)
                guard index < bytes.count else { return }
                if bytes[index] == 0x28 { skipInterpolation() } else { blank() }
            } else {
                blank()
            }
        }
    }

    private func endsLiteral(quoteCount: Int, poundCount: Int) -> Bool {
        guard index + quoteCount + poundCount <= bytes.count else { return false }
        let quotes = bytes[index..<index + quoteCount].allSatisfy { $0 == 0x22 }
        let pounds = bytes[index + quoteCount..<index + quoteCount + poundCount]
        return quotes && pounds.allSatisfy { $0 == 0x23 }
    }

    private func isEscape(poundCount: Int) -> Bool {
        guard bytes[index] == 0x5C, index + poundCount < bytes.count else { return false }
        return bytes[index + 1..<index + 1 + poundCount].allSatisfy { $0 == 0x23 }
    }

    private mutating func skipInterpolation() {
        var depth = 0
        repeat {
            if let poundCount = literalPoundCount() {
                skipLiteral(poundCount: poundCount)
                continue
            }
            if bytes[index] == 0x28 { depth += 1 }
            if bytes[index] == 0x29 { depth -= 1 }
            blank()
        } while index < bytes.count && depth > 0
    }

    private mutating func keep() {
        output.append(bytes[index])
        advance()
    }

    private mutating func blank(_ count: Int = 1) {
        for _ in 0..<count where index < bytes.count {
            output.append(bytes[index] == 0x0A ? 0x0A : 0x20)
            advance()
        }
    }

    private mutating func advance() {
        if bytes[index] == 0x0A { lineNumber += 1 }
        index += 1
    }
}
