/// Numbers with periods between them, such as an app's `CFBundleVersion`, compared number by
/// number: 4.10 comes after 4.9, and 4 is 4.0.
public struct BundleVersion: Hashable, Sendable {
    public enum Order: Sendable {
        case before
        case same
        case after
    }

    public static let numberCountMax = 8
    public static let digitCountMax = 18

    /// The version as it was written.
    public let text: String
    private let numbers: [UInt64]

    /// Parses a version. Nil for anything but 1 to ``numberCountMax`` numbers of 1 to
    /// ``digitCountMax`` digits.
    public init?(_ text: String) {
        var numbers: [UInt64] = []
        for part in text.utf8.split(separator: 0x2E, omittingEmptySubsequences: false) {
            guard !part.isEmpty, part.count <= Self.digitCountMax,
                numbers.count < Self.numberCountMax
            else { return nil }
            var number: UInt64 = 0
            for byte in part {
                guard (0x30...0x39).contains(byte) else { return nil }
                number = number * 10 + UInt64(byte - 0x30)
            }
            numbers.append(number)
        }
        self.text = text
        self.numbers = numbers
    }

    /// The order of `text` relative to this version, or nil if it is not numbers and periods. It
    /// makes no copy of `text`, because every request asks for this.
    public func order(of text: String) -> Order? {
        var order = Order.same
        var index = 0
        var number: UInt64?
        for byte in text.utf8 {
            if byte == 0x2E {
                guard let whole = number else { return nil }
                compare(whole, at: index, &order)
                index += 1
                number = nil
                continue
            }
            guard (0x30...0x39).contains(byte) else { return nil }
            number = Self.appending(byte - 0x30, to: number ?? 0)
        }
        guard let last = number else { return nil }
        compare(last, at: index, &order)
        index += 1
        while index < numbers.count {
            compare(0, at: index, &order)
            index += 1
        }
        return order
    }

    /// Compares the next number. The first one that differs decides.
    private func compare(_ number: UInt64, at index: Int, _ order: inout Order) {
        guard order == .same else { return }
        let own = index < numbers.count ? numbers[index] : 0
        if number != own { order = number < own ? .before : .after }
    }

    /// Appends a digit. A number larger than any in a configuration counts as the largest.
    private static func appending(_ digit: UInt8, to number: UInt64) -> UInt64 {
        let (product, hasOverflown) = number.multipliedReportingOverflow(by: 10)
        let (sum, isLarger) = product.addingReportingOverflow(UInt64(digit))
        return hasOverflown || isLarger ? .max : sum
    }
}
