import Bytes

/// Numbers with their units, as the configuration writes them.
enum Quantity {
    enum Outcome: Equatable {
        /// The number in the smallest unit: milliseconds or bytes.
        case amount(Int)
        case withoutUnit
        case malformed
        case tooLarge
    }

    struct Unit {
        let name: String
        let factor: Int
    }

    /// The units of durations, from small to large.
    static let durationUnits = [
        Unit(name: "ms", factor: 1), Unit(name: "s", factor: 1000),
        Unit(name: "m", factor: 60_000), Unit(name: "h", factor: 3_600_000),
        Unit(name: "d", factor: 86_400_000),
    ]
    static let byteUnits = [
        Unit(name: "B", factor: 1), Unit(name: "KiB", factor: 1024),
        Unit(name: "MiB", factor: 1024 * 1024), Unit(name: "GiB", factor: 1024 * 1024 * 1024),
    ]
    static let byteRateUnits = [
        Unit(name: "B/s", factor: 1), Unit(name: "KiB/s", factor: 1024),
        Unit(name: "MiB/s", factor: 1024 * 1024),
    ]
    static let countUnits = [
        Unit(name: "k", factor: 1000), Unit(name: "M", factor: 1_000_000),
        Unit(name: "G", factor: 1_000_000_000),
    ]
    static let percentUnits = [Unit(name: "%", factor: 1)]

    /// The words of messages about numbers of one kind.
    struct Form {
        let noun: String
        let example: String
        let likeliestUnit: String
        let units: [Unit]

        static var duration: Form {
            Form(
                noun: "duration", example: "30s, 250ms, 5m, 24h or 30d", likeliestUnit: "s",
                units: durationUnits)
        }
        static var size: Form {
            Form(
                noun: "size", example: "64KiB, 1MiB or 512B", likeliestUnit: "B",
                units: byteUnits)
        }
        static var byteRate: Form {
            Form(
                noun: "byte rate", example: "500B/s or 4KiB/s", likeliestUnit: "B/s",
                units: byteRateUnits)
        }
        static var count: Form {
            Form(
                noun: "number", example: "200, 50k, 2M or 1G", likeliestUnit: "",
                units: countUnits)
        }
        static var share: Form {
            Form(noun: "share", example: "25%", likeliestUnit: "%", units: percentUnits)
        }
    }

    static func parse(_ text: String, _ units: [Unit]) -> Outcome {
        let digits = text.utf8.prefix(while: \.isDigit)
        guard !digits.isEmpty else { return .malformed }
        let unitName = String(decoding: text.utf8.dropFirst(digits.count), as: UTF8.self)
        if unitName.isEmpty { return .withoutUnit }
        guard let unit = units.first(where: { $0.name == unitName }) else { return .malformed }
        guard let number = count(String(decoding: digits, as: UTF8.self)) else { return .tooLarge }
        let (amount, overflow) = number.multipliedReportingOverflow(by: unit.factor)
        return overflow ? .tooLarge : .amount(amount)
    }

    /// The number, of digits alone; nil for other texts and for numbers too large for any setting.
    static func count(_ text: String) -> Int? {
        guard let number = ASCII.decimal(Array(text.utf8).span) else { return nil }
        return Int(exactly: number)
    }

    /// The number in the largest unit without a fraction. ``parse(_:_:)`` reads it back.
    static func describe(_ amount: Int, _ units: [Unit]) -> String {
        let unit = units.last { amount.isMultiple(of: $0.factor) && amount != 0 }
        guard let unit else { return "\(amount)\(amount == 0 ? zeroUnit(units) : "")" }
        return "\(amount / unit.factor)\(unit.name)"
    }

    private static func zeroUnit(_ units: [Unit]) -> String {
        // Counts need no unit, and 0s is the usual way to write 0ms.
        guard units[0].factor == 1 else { return "" }
        return units.count > 1 && units[0].name == "ms" ? "s" : units[0].name
    }

    static func describe(_ duration: Duration) -> String {
        describe(milliseconds(duration), durationUnits)
    }

    static func milliseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = Int(clamping: seconds).multipliedReportingOverflow(by: 1000)
        return overflow ? .max : whole + Int(attoseconds / 1_000_000_000_000_000)
    }
}
