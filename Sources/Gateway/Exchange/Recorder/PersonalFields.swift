import Bytes
import HTTP
import Policy

/// Whether an answer can carry what is for one client alone: a shared cache that keeps the answer
/// would give the same challenge to everybody (RFC 9111 section 3).
enum PersonalFields {
    /// No shared cache gives the answer to others without asking.
    case allowed
    /// Nothing is said of who may keep the answer: where it says `Cache-Control: private`.
    case allowedAsPrivate
    /// The answer is meant to be shared, and stays as the upstream wants it.
    case withheld
}

extension PersonalFields {
    /// - Parameter isOfPage: whether a cache may keep the answer though nothing is said of that.
    init(_ words: StorageWords, ofPage isOfPage: Bool, status: UInt16) {
        if words.isTargeted {
            self = .withheld
        } else if words.isPersonal {
            self = .allowed
        } else if words.isSpoken {
            self = .withheld
        } else if isOfPage {
            // A 304 speaks of an answer that a cache has kept already, and changes what it says.
            self = status == 304 ? .withheld : .allowedAsPrivate
        } else {
            // Kept only where that is said (RFC 9110 section 9.2.3).
            self = .allowed
        }
    }
}

/// What an answer says about who may keep it.
struct StorageWords {
    /// Caches keep it for one client, or not at all, or ask before each use.
    private(set) var isPersonal = false
    private(set) var isSpoken = false
    /// Another field speaks to shared caches alone, and counts more (RFC 9213).
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

    /// `CDN-Cache-Control` and the like, and what single products have in its place.
    private static func isTargeted(_ name: Span<UInt8>) -> Bool {
        let end = name.extracting(max(0, name.count - targetedEnd.count)...)
        if ASCII.equalsIgnoringCase(end, lowercase: targetedEnd) { return true }
        for product in productFields where ASCII.equalsIgnoringCase(name, lowercase: product) {
            return true
        }
        return false
    }

    /// The directives between commas that no quotes hold.
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

    /// One that names fields (`private="X"`) speaks of these alone.
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
    /// What an upstream's answer may carry, as the route's edits leave it.
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

    /// What an answer of the gateway's own may carry. One that tells of another holds its fields.
    func personalFields(in response: LocalResponse) -> PersonalFields {
        checkCall.question?.form == .inJSON ? .withheld : personalFields(of: response)
    }

    /// What is not a route's is never stored.
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
