import Bytes

/// An app's report of a failure on its side: in a header of any request, or to an endpoint.
///
/// The report is not proved, so every part is from a closed set, or short.
public struct FailureReport: Sendable, Equatable {
    /// The step that the app was about to take.
    public enum Activity: String, Sendable, CaseIterable {
        /// Finding out if the device has App Attest.
        case support
        /// Making a key.
        case key
        /// Getting a challenge.
        case challenge
        /// Having Apple attest the key.
        case attest
        /// Having the gateway verify the attestation.
        case verify
        /// Signing a request.
        case assert
        /// Sending a signed request.
        case request
        /// Making a DeviceCheck token.
        case token
        /// Any other word.
        case other
        /// The word for a report that cannot be read.
        case invalid
    }

    /// The failure: the codes of Apple's `DCError`, then those of the network and the gateway.
    public enum Code: String, Sendable, CaseIterable {
        case unknownSystemFailure, featureUnsupported, invalidInput, invalidKey, serverUnavailable
        /// The device says that it has no App Attest, which `DCError` has no code for.
        case unsupported
        case offline, timedOut, unreachable, connectionLost, untrusted
        /// The gateway has refused, or another server has answered in its place.
        case refused, unexpectedAnswer
        case keychain
        /// Android's Keystore: its exceptions, and what the app finds of the key. `keyStore` stands
        /// for `keyStore` and any number, that of a `KeyStoreException`.
        case keyStore, keyPermanentlyInvalidated, strongBoxUnavailable, keyMissing, softwareKey
        case noChain, unrecoverableKey, storage
        /// Any other word.
        case other
        /// The word for a report that cannot be read.
        case invalid
    }

    /// A version of the device's system, such as 27.1.
    public struct System: Sendable, Hashable, CustomStringConvertible {
        public let major: UInt8
        public let minor: UInt8

        public var description: String { "\(major).\(minor)" }

        /// Parses one to three numbers of one or two digits each. Everything after the second is
        /// dropped, because it would make many names and tell little.
        public init?(_ text: Span<UInt8>) {
            var numbers: [UInt8] = []
            var digitCount = 0
            for index in text.indices {
                let byte = text[index]
                if byte == UInt8(ascii: ".") {
                    guard digitCount > 0, numbers.count < 3 else { return nil }
                    digitCount = 0
                    continue
                }
                guard (0x30...0x39).contains(byte), digitCount < 2 else { return nil }
                if digitCount == 0 {
                    numbers.append(byte - 0x30)
                } else {
                    // So that each version has one spelling.
                    guard numbers[numbers.count - 1] > 0 else { return nil }
                    numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + byte - 0x30
                }
                digitCount += 1
            }
            guard digitCount > 0, (1...3).contains(numbers.count), numbers[0] > 0 else {
                return nil
            }
            major = numbers[0]
            minor = numbers.count > 1 ? numbers[1] : 0
        }
    }

    /// A part that may be missing, or have another form than it should.
    public enum Part<Value: Sendable & Equatable>: Sendable, Equatable {
        case missing
        case malformed
        case value(Value)
    }

    public private(set) var phase: Activity
    public private(set) var code: Code
    public private(set) var system: Part<System> = .missing
    /// The number of failures of this kind in a row.
    public private(set) var attempt: Part<Int> = .missing
    /// The App ID, or the bundle identifier in it.
    public private(set) var app: Part<String> = .missing
    public private(set) var version: Part<String> = .missing

    /// The report that is counted in place of one that cannot be read.
    public static let unreadable = FailureReport(phase: .invalid, code: .invalid)

    private init(phase: Activity, code: Code) { (self.phase, self.code) = (phase, code) }

    /// The fault of a report, in words for the developer who wrote it.
    public struct Fault: Error {
        public let explanation: StaticString

        public init(_ explanation: StaticString) { self.explanation = explanation }
    }

    /// The fault of the first part with a wrong form.
    public var fault: Fault? {
        if system == .malformed { return Fault("os is not a version such as \"27.1\".") }
        if attempt == .malformed { return Fault("try is not a whole number from 1 to 99.") }
        if app == .malformed {
            return Fault("app is not 1 to 128 letters, digits, '.', '-' and '_'.")
        }
        if version == .malformed {
            return Fault("version is not 1 to 128 letters, digits, '.', '-' and '_'.")
        }
        return nil
    }

    /// Takes the parts of a report by their names. Throws if the phase or the code is missing, or
    /// if a value is invalid.
    public init(value: (String) -> [UInt8]?) throws(Fault) {
        guard let phase = value("phase") else { throw Fault("phase is missing.") }
        guard let code = value("code") else { throw Fault("code is missing.") }
        guard Self.isWord(phase.span) else {
            throw Fault("phase is not 1 to 128 letters, digits, '.', '-' and '_'.")
        }
        guard Self.isWord(code.span) else {
            throw Fault("code is not 1 to 128 letters, digits, '.', '-' and '_'.")
        }
        self.init(
            phase: Self.known(Activity(rawValue: String(decoding: phase, as: UTF8.self))),
            code: Self.known(Code(word: String(decoding: code, as: UTF8.self))))
        if let text = value("os") {
            system = System(text.span).map { .value($0) } ?? .malformed
        }
        if let text = value("try") { attempt = Self.attempt(text.span) }
        if let text = value("app") { app = Self.name(text) }
        if let text = value("version") { version = Self.name(text) }
    }

    /// Parses the header: `phase=attest;code=invalidKey;os=27.1;try=3`, in any order. Throws if a
    /// part has another form or is repeated; parts with other names are ignored.
    public init(header text: Span<UInt8>) throws(Fault) {
        guard !text.isEmpty else { throw Fault("The header is empty, or comes more than once.") }
        guard text.count <= Self.byteCountMax else {
            throw Fault("The header is longer than 512 bytes.")
        }
        var values: [String: [UInt8]] = [:]
        var start = 0
        while start <= text.count {
            var end = start
            while end < text.count, text[end] != UInt8(ascii: ";") { end += 1 }
            guard let (name, value) = Self.part(text.extracting(start..<end)) else {
                throw Fault(
                    """
                    A part of the header is not NAME=VALUE, each of 1 to 128 letters, digits, '.', \
                    '-' and '_'.
                    """)
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw Fault("A part of the header comes more than once.")
            }
            start = end + 1
        }
        try self.init { values[$0] }
    }

    /// Parses `name=value`, with white space around it, and a name and a value that are words.
    private static func part(_ text: Span<UInt8>) -> (name: String, value: [UInt8])? {
        var (start, end) = (0, text.count)
        while start < end, isSpace(text[start]) { start += 1 }
        while start < end, isSpace(text[end - 1]) { end -= 1 }
        var split = start
        while split < end, text[split] != UInt8(ascii: "=") { split += 1 }
        guard split < end else { return nil }
        let (name, value) = (text.extracting(start..<split), text.extracting((split + 1)..<end))
        guard isWord(name), isWord(value) else { return nil }
        return (String(decoding: name.array, as: UTF8.self), value.array)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// True for letters, digits and the signs of versions and App IDs.
    private static func isWord(_ text: Span<UInt8>) -> Bool {
        guard (1...wordByteCountMax).contains(text.count) else { return false }
        for index in text.indices {
            let byte = text[index]
            let isPlain =
                (0x61...0x7A).contains(ASCII.lowercased(byte)) || (0x30...0x39).contains(byte)
                || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: "_")
            guard isPlain else { return false }
        }
        return true
    }

    private static func name(_ text: [UInt8]) -> Part<String> {
        isWord(text.span) ? .value(String(decoding: text, as: UTF8.self)) : .malformed
    }

    private static func attempt(_ text: Span<UInt8>) -> Part<Int> {
        guard text.count <= 2, let number = ASCII.decimal(text), number > 0,
            text[0] != UInt8(ascii: "0")
        else { return .malformed }
        return .value(Int(number))
    }

    /// The labels with which the gateway describes a report, so that an app's words never look like
    /// them.
    private static func known(_ phase: Activity?) -> Activity {
        phase.flatMap { $0 == .invalid ? nil : $0 } ?? .other
    }

    private static func known(_ code: Code?) -> Code {
        code.flatMap { $0 == .invalid ? nil : $0 } ?? .other
    }

    /// The longest report, in a header or a body: all parts at their longest.
    public static let byteCountMax = 512
    /// The longest word. An App ID has 10 bytes, a period and a bundle identifier of up to 155;
    /// those in use are far shorter.
    private static let wordByteCountMax = 128
}

extension FailureReport.Code {
    /// The code that `word` names; nil for an unknown word.
    fileprivate init?(word: String) {
        let number = word.hasPrefix("keyStore") ? word.dropFirst("keyStore".count) : ""
        let isNumbered = !number.isEmpty && number.utf8.allSatisfy { (0x30...0x39).contains($0) }
        self.init(rawValue: isNumbered ? Self.keyStore.rawValue : word)
    }
}
