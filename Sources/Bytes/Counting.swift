extension String {
    /// A number with its noun: `1 key`, `2 keys`.
    public init(counting number: some BinaryInteger, _ noun: String) {
        self = "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}
