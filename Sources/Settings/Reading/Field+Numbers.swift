import YAML

extension Field {
    /// A plain number; `reason` says why it has bounds.
    func count(_ range: ClosedRange<Int>, _ reason: String) -> Int? {
        guard let text = text() else { return nil }
        guard let number = Quantity.count(text.value) else {
            let isDigits = text.value.utf8.allSatisfy { (0x30...0x39).contains($0) }
            if isDigits {
                outOfRange(text, "\(range.lowerBound)", "\(range.upperBound)", reason)
            } else {
                error("\(text.shown) is not a whole number without unit")
            }
            return nil
        }
        guard range.contains(number) else {
            outOfRange(text, "\(range.lowerBound)", "\(range.upperBound)", reason)
            return nil
        }
        return number
    }

    /// A plain number, or `off`, which reads as nil inside.
    func countOrOff(_ range: ClosedRange<Int>, _ reason: String) -> Int?? {
        if case .scalar("off", _) = node.kind { return .some(nil) }
        return count(range, reason).map { .some($0) }
    }

    /// Bytes a second.
    func byteRate(_ range: ClosedRange<Int>, _ reason: String) -> Int? {
        amount(range, .byteRate, reason)
    }

    /// A duration with its unit.
    func duration(_ low: Duration, _ high: Duration, _ reason: String) -> Duration? {
        let milliseconds = Quantity.milliseconds(low)...Quantity.milliseconds(high)
        return amount(milliseconds, .duration, reason).map { .milliseconds($0) }
    }

    /// A count of bytes with its unit.
    func byteCount(_ range: ClosedRange<Int>, _ reason: String) -> Int? {
        amount(range, .size, reason)
    }

    /// `0%` to `100%`.
    func percent() -> Int? { share(0...100, "a share of all") }

    /// A percentage with its sign.
    func share(_ range: ClosedRange<Int>, _ reason: String) -> Int? {
        amount(range, .share, reason)
    }

    private func amount(
        _ range: ClosedRange<Int>, _ form: Quantity.Form, _ reason: String
    ) -> Int? {
        guard let text = text() else { return nil }
        switch Quantity.parse(text.value, form.units) {
        case .amount(let amount) where range.contains(amount): return amount
        case .amount, .tooLarge:
            outOfRange(
                text, Quantity.describe(range.lowerBound, form.units),
                Quantity.describe(range.upperBound, form.units), reason)
        case .withoutUnit:
            let units = form.units.map(\.name).joined(separator: ", ")
            let choice = form.units.count > 1 ? " (units: \(units))" : ""
            error("\(text.shown) has no unit: write \(text.value)\(form.likeliestUnit)\(choice)")
        case .malformed:
            error("\(text.shown) is not a \(form.noun): write one like \(form.example)")
        }
        return nil
    }

    private func outOfRange(_ text: SettingText, _ low: String, _ high: String, _ reason: String) {
        error("\(text.shown) is outside \(low) to \(high): \(reason)")
    }
}
