import Bytes
import Testing

@Suite("Text written in place")
struct OutputSpanTests {}

extension OutputSpanTests {
    private func text(_ capacity: Int, _ write: (inout OutputSpan<UInt8>) -> Void) -> String {
        String(decoding: [UInt8](capacity: capacity, initializingWith: write), as: UTF8.self)
    }

    @Test("numbers have the digits that they are printed with, at each length")
    func decimals() {
        var numbers: [UInt64] = [0, .max]
        var power: UInt64 = 1
        while case let (next, overflow) = power.multipliedReportingOverflow(by: 10), !overflow {
            numbers += [next - 1, next, next + 7]
            power = next
        }
        for number in numbers {
            let digitCount = number.decimalDigitCount
            #expect(digitCount == "\(number)".utf8.count, "\(number)")
            let written = text(digitCount) { $0.append(decimal: number, digitCount: digitCount) }
            #expect(written == "\(number)")
        }
    }

    @Test("hexadecimal numbers have sixteen digits, and pieces stand behind each other")
    func hexadecimal() {
        let written = text(24) { output in
            let piece: [UInt8] = [0x61, 0x62]
            output.append(contentsOf: piece.span)
            output.append(paddedHexadecimal: 0x0123_4567_89AB_CDEF)
            output.append(contentsOf: piece.span.extracting(0..<0))
            output.append(contentsOf: piece.span)
        }
        #expect(written == "ab0123456789abcdefab")
    }

    @Test("base64url is lent as it is made by itself")
    func base64() {
        let half = Bytes16(word0: 0x0102_0304_0506_0708, word1: 0xFFFE_FDFC_FBFA_F9F8)
        let whole = Bytes32(word0: .max, word1: 0, word2: half.word0, word3: half.word1)
        #expect(Base64.withURL(half) { text($0) } == Base64.encodeURL(half.array))
        #expect(Base64.withURL(whole) { text($0) } == Base64.encodeURL(whole.array))
    }

    private func text(_ bytes: Span<UInt8>) -> String {
        text(bytes.count) { $0.append(contentsOf: bytes) }
    }
}
