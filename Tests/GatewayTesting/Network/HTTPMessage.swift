/// A request or response as it came over the wire.
public struct HTTPMessage: Sendable {
    public struct Field: Hashable, Sendable {
        public let name: String
        public let value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    public let startLine: String
    public let fields: [Field]
    /// The content, without its framing.
    public internal(set) var body: [UInt8] = []
    public internal(set) var trailers: [Field] = []
    /// The head as it was, with its empty line.
    public let headBytes: [UInt8]

    /// The value of the first field of that name, whatever its case.
    public subscript(_ name: String) -> String? { values(of: name).first }

    public func values(of name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    public var bodyText: String { String(decoding: body, as: UTF8.self) }

    private func word(_ index: Int) -> String {
        let words = startLine.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        return index < words.count ? String(words[index]) : ""
    }

    // MARK: requests

    public var method: String { word(0) }
    public var target: String { word(1) }

    // MARK: responses

    /// 0 where the start line has none.
    public var status: Int { Int(word(1)) ?? 0 }
    public var isInterim: Bool { (100..<200).contains(status) }

    /// How the end of the content is known (RFC 9112 section 6.3).
    enum Framing: Equatable {
        case none
        case length(Int)
        case chunked
        case untilClose
    }

    func requestFraming() -> Framing {
        if self["Transfer-Encoding"]?.lowercased() == "chunked" { return .chunked }
        return self["Content-Length"].flatMap { Int($0) }.map { .length($0) } ?? .none
    }

    func responseFraming(toHEAD: Bool) -> Framing {
        if toHEAD || isInterim || status == 204 || status == 304 { return .none }
        if self["Transfer-Encoding"]?.lowercased() == "chunked" { return .chunked }
        return self["Content-Length"].flatMap { Int($0) }.map { .length($0) } ?? .untilClose
    }
}
