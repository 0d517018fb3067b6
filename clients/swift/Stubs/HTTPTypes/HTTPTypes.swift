// Stands in for swift-http-types, which cannot be fetched where the tests run. It has only the
// declarations that SallyportHTTPTypes and its tests need, and is no part of any product.

public struct HTTPField: Sendable, Hashable {
    public struct Name: Sendable, Hashable {
        public let rawName: String
        public let canonicalName: String

        public init?(_ name: String) {
            guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != 0x3a })
            else { return nil }
            rawName = name
            canonicalName = name.lowercased()
        }

        public static func == (left: Self, right: Self) -> Bool {
            left.canonicalName == right.canonicalName
        }

        public func hash(into hasher: inout Hasher) { hasher.combine(canonicalName) }
    }

    public var name: Name
    public var value: String

    public init(name: Name, value: String) {
        self.name = name
        self.value = value
    }
}

public struct HTTPFields: Sendable, Hashable, RandomAccessCollection {
    private var fields: [HTTPField] = []

    public init() {}

    public var startIndex: Int { 0 }
    public var endIndex: Int { fields.count }
    public subscript(position: Int) -> HTTPField { fields[position] }

    public mutating func append(_ field: HTTPField) { fields.append(field) }

    public subscript(name: HTTPField.Name) -> String? {
        get {
            let values = fields.filter { $0.name == name }.map(\.value)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
        set {
            fields.removeAll { $0.name == name }
            if let newValue { fields.append(HTTPField(name: name, value: newValue)) }
        }
    }
}

public struct HTTPRequest: Sendable, Hashable {
    public struct Method: Sendable, Hashable {
        public let rawValue: String
        public init?(_ method: String) { rawValue = method }
    }

    public var method: Method
    public var path: String?
    public var headerFields: HTTPFields

    public init(
        method: Method, scheme: String?, authority: String?, path: String?,
        headerFields: HTTPFields = HTTPFields()
    ) {
        self.method = method
        self.path = path
        self.headerFields = headerFields
    }
}

public struct HTTPResponse: Sendable, Hashable {
    public struct Status: Sendable, Hashable {
        public let code: Int
        public init(code: Int, reasonPhrase: String = "") { self.code = code }
    }

    public var status: Status
    public var headerFields: HTTPFields

    public init(status: Status, headerFields: HTTPFields = HTTPFields()) {
        self.status = status
        self.headerFields = headerFields
    }
}
