/// A registry in PostgreSQL.
public struct PostgresSettings: Hashable, Sendable {
    /// A server: a name, a numeric address, or the directory of its unix socket.
    public struct Host: Hashable, Sendable {
        public var name: String
        public var port: UInt16

        public init(name: String, port: UInt16) {
            self.name = name
            self.port = port
        }
    }

    /// The servers, in the order in which they are tried. The first that accepts writes is used.
    public var hosts: [Host]
    public var user: String?
    public var password: String?
    /// The file with the password, which is read at each new connection.
    public var passwordFile: String?
    public var database: String?
    public var parameters: [String: String] = [:]
    public var schema = "sallyport"
    public var poolCount = 4
    public var connectTimeout: Duration = .seconds(3)
    public var commandTimeout: Duration = .seconds(5)
    public var staleMax: Duration = .seconds(600)

    public init(hosts: [Host]) { self.hosts = hosts }
}
