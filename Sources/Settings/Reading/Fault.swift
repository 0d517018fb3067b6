/// What is wrong with a text, in words that follow it: `is not a rate`.
struct Fault: Error, Equatable {
    let message: String

    init(_ message: String) { self.message = message }
}
