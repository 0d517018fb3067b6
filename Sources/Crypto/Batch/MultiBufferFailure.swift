/// The reason why signatures are verified one at a time.
public enum MultiBufferFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The library was not found, with the system's words.
    case notFound(String)
    /// The function that is missing, and the library's path.
    case symbolMissing(String, String)
    case processor
    case knownAnswer

    public var description: String {
        switch self {
        case .notFound(let text): "the library cannot be loaded: \(text)"
        case .symbolMissing(let name, let path): "\(path) lacks \(name)"
        case .processor: "the processor lacks the AVX-512 IFMA instructions"
        case .knownAnswer: "the library has failed the test of known answers, so it is not used"
        }
    }
}

/// The reason why a library is not trusted any more.
public enum MultiBufferDistrust: UInt8, Sendable {
    case otherVerdict = 1
    case knownWrong
    case knownUndecided
    case undecided

    /// A sentence about the library at `path`, without its end.
    public func text(about path: String) -> String {
        switch self {
        case .otherVerdict: "OpenSSL does not share a verdict of \(path)"
        case .knownWrong: "\(path) was wrong about a signature whose verdict is known"
        case .knownUndecided:
            "\(path) could not judge a signature whose verdict is known"
        case .undecided:
            "\(path) could not judge any of "
                + "\(P256BatchVerifier.undecidedRunMax) signatures in a row"
        }
    }

    /// True if earlier verdicts may be wrong as well.
    public var isAboutVerdicts: Bool {
        switch self {
        case .otherVerdict, .knownWrong: true
        case .knownUndecided, .undecided: false
        }
    }
}
