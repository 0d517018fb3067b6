/// What one run of an operation came to.
enum Outcome: Equatable {
    /// As it is with enough memory.
    case right
    /// It said that it failed, or that something good is not.
    case refused
    /// What must never be: something bad is found good, or something good is changed.
    case wrong(String)

    /// Thrown by the body of a question that finds more than an answer.
    struct Wrong: Error {
        let text: String
    }

    /// The outcome of a question that is to be answered with true.
    static func good(_ body: () throws -> Bool) -> Outcome {
        do { return try body() ? .right : .refused } catch { return .refused }
    }

    /// The outcome of a question that no lack of memory may answer with true.
    static func bad(_ body: () throws -> Bool) -> Outcome {
        do { return try body() ? .wrong("something bad was found good") : .right } catch {
            return .right
        }
    }

    /// The outcome of making what has to be `expected`.
    static func same<Value: Equatable>(
        as expected: Value, _ body: () throws -> Value
    ) -> Outcome {
        do {
            let value = try body()
            return value == expected ? .right : .wrong("\(value) instead of \(expected)")
        } catch let wrong as Wrong {
            return .wrong(wrong.text)
        } catch {
            return .refused
        }
    }
}

/// Something that the gateway has a library do.
struct Operation {
    let name: String
    /// The library that has no memory for it.
    let library: Library
    /// Whether it is a fault on purpose, which has to be found.
    var isPlanted = false
    let run: () -> Outcome

    init(
        _ name: String, of library: Library = .openSSL, isPlanted: Bool = false,
        run: @escaping () -> Outcome
    ) {
        self.name = name
        self.library = library
        self.isPlanted = isPlanted
        self.run = run
    }
}
