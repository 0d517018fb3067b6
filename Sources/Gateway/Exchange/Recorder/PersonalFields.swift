import Bytes
import HTTP
import Policy

/// Decides whether an answer can carry fields for one client alone. A shared cache that keeps the
/// answer would give the same challenge to every client (RFC 9111 section 3).
enum PersonalFields {
    /// No shared cache gives the answer to other clients without asking.
    case allowed
    /// The answer does not say who may keep it, so it gets `Cache-Control: private`.
    case allowedAsPrivate
    /// The answer is meant to be shared, and stays as the upstream sent it.
    case withheld
}

extension PersonalFields {
    /// - Parameter isOfPage: True if a cache may keep the answer even though no field says so.
    init(_ words: StorageWords, ofPage isOfPage: Bool, status: UInt16) {
        if words.isTargeted {
            self = .withheld
        } else if words.isPersonal {
            self = .allowed
        } else if words.isSpoken {
            self = .withheld
        } else if isOfPage {
            // A 304 changes what an answer says that a cache already keeps.
            self = status == 304 ? .withheld : .allowedAsPrivate
        } else {
            // A cache keeps the answer only if a field says so (RFC 9110 section 9.2.3).
            self = .allowed
        }
    }
}

/// The words of an answer about who may keep it.
struct StorageWords {
    /// True if caches keep it for one client, keep nothing, or ask before each use.
    private(set) var isPersonal = false
    private(set) var isSpoken = false
    /// True if another field speaks to shared caches alone. It takes precedence (RFC 9213).
    private(set) var isTargeted = false

    mutating func take(name: Span<UInt8>, value: Span<UInt8>) {
        switch name.count {
        case 7: if ASCII.equalsIgnoringCase(name, lowercase: Self.expires) { isSpoken = true }
        case 13:
            guard ASCII.equalsIgnoringCase(name, lowercase: Self.cacheControl) else { return }
            isSpoken = true
            takeDirectives(value)
        case 12, 14...: isTargeted = isTargeted || Self.isTargeted(name)
        default: break
        }
    }

    /// True for `CDN-Cache-Control` and its like, and for the fields that some products use
    /// instead.
    private static func isTargeted(_ name: Span<UInt8>) -> Bool {
        let end = name.extracting(max(0, name.count - targetedEnd.count)...)
        if ASCII.equalsIgnoringCase(end, lowercase: targetedEnd) { return true }
        for product in productFields where ASCII.equalsIgnoringCase(name, lowercase: product) {
            return true
        }
        return false
    }

    /// Takes the directives, which are separated by commas outside quotes.
    private mutating func takeDirectives(_ value: Span<UInt8>) {
        var start = 0
        var index = 0
        var isQuoted = false
        while index < value.count {
            switch value[index] {
            case UInt8(ascii: "\\") where isQuoted: index += 1
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted:
                take(directive: value.extracting(start..<index))
                start = index + 1
            default: break
            }
            index += 1
        }
        take(directive: value.extracting(min(start, value.count)...))
    }

    /// Takes one directive. One that names fields (`private="X"`) is about these alone.
    private mutating func take(directive: Span<UInt8>) {
        var (start, end) = (0, directive.count)
        while start < end, Self.isSpace(directive[start]) { start += 1 }
        while end > start, Self.isSpace(directive[end - 1]) { end -= 1 }
        let word = directive.extracting(start..<end)
        for personal in Self.personal where ASCII.equalsIgnoringCase(word, lowercase: personal) {
            isPersonal = true
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static let expires = Array("expires".utf8)
    private static let cacheControl = Array("cache-control".utf8)
    private static let targetedEnd = Array("-cache-control".utf8)
    private static let productFields = [
        "surrogate-control", "edge-control", "x-accel-expires",
    ].map { Array($0.utf8) }
    private static let personal = ["private", "no-store", "no-cache"].map { Array($0.utf8) }
}

extension Recorder {
    /// Decides for an upstream's answer, with the route's edits applied.
    func personalFields(
        in head: borrowing ResponseHead, bytes: Span<UInt8>
    ) -> PersonalFields {
        guard policy.mode != .off else { return .allowed }
        var words = StorageWords()
        let edits = match.handling?.responseEdits
        for field in head.fields {
            let name = bytes.extracting(field.name)
            if let edits, edits.removed.contains(name) { continue }
            words.take(name: name, value: bytes.extracting(field.value))
        }
        return personalFields(words, status: head.status)
    }

    /// Decides for the gateway's own answer. One that describes another contains that one's fields.
    func personalFields(in response: LocalResponse) -> PersonalFields {
        checkCall.question?.form == .inJSON ? .withheld : personalFields(of: response)
    }

    /// Decides for an answer of the gateway's own. Caches store only a route's.
    func personalFields(of response: LocalResponse) -> PersonalFields {
        guard response.isOfRoute, policy.mode != .off else { return .allowed }
        return personalFields(StorageWords(), status: response.status)
    }

    private func personalFields(_ upstream: StorageWords, status: UInt16) -> PersonalFields {
        var words = upstream
        for line in match.handling?.responseEdits?.lines ?? [] {
            var value = ByteBuffer()
            rewriter.append(line.value, to: &value)
            words.take(name: line.name.span, value: value.readable)
        }
        let isOfPage = head.methodKind == .get || head.methodKind == .head
        return PersonalFields(words, ofPage: isOfPage, status: status)
    }
}
