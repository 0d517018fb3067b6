/// A fault of a text, in words that follow the text in a message: `is not a rate`.
struct Fault: Error, Equatable {
    let message: String

    init(_ message: String) { self.message = message }
}
