import Bytes
import DER

/// Reads the times of RFC 5280 section 4.1.2.5: UTC, to the second.
enum CertificateTime {
    /// Seconds since 1970; nil for any other form. Either type may name any year.
    static func seconds(_ time: borrowing DERElement) -> Int64? {
        let yearDigitCount = time.tag == .utcTime ? 2 : 4
        guard time.content.count == yearDigitCount + 11,
            time.content[yearDigitCount + 10] == UInt8(ascii: "Z")
        else { return nil }
        let content = time.content
        guard let year = number(content, 0, yearDigitCount),
            let month = number(content, yearDigitCount, 2),
            let day = number(content, yearDigitCount + 2, 2),
            let hour = number(content, yearDigitCount + 4, 2),
            let minute = number(content, yearDigitCount + 6, 2),
            let second = number(content, yearDigitCount + 8, 2), second < 60
        else { return nil }
        // Two digits stand for the years from 1950 to 2049.
        let century = yearDigitCount == 4 ? 0 : (year < 50 ? 2000 : 1900)
        return CivilTime.secondsSince1970(
            year: century + year, month: month, day: day, hour: hour, minute: minute,
            second: second)
    }

    private static func number(_ text: Span<UInt8>, _ start: Int, _ digitCount: Int) -> Int? {
        ASCII.decimal(text.extracting(start..<start + digitCount)).map { Int($0) }
    }
}
