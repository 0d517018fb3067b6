extension Field {
    /// A plain number; `reason` says why it has bounds.
    func count(_ range: ClosedRange<Int>, _ reason: String) -> Int? {
        guard let text = text() else { return nil }
        guard let number = Quantity.count(text.value) else {
            if text.value.utf8.allSatisfy(\.isDigit) {
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

    /// A number with its unit, in the smallest one.
    func amount(
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
