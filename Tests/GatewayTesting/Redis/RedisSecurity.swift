import Foundation

/// What servers are started with that believe nobody: certificates by an authority of their own on
/// both sides, a user for each who comes, and no port without TLS. Gateways get the rights that
/// `docs/operations/stores.md` names, and no others.
public final class RedisSecurity: Sendable {
    /// A certificate that servers show in place of the right one.
    public enum Imposture: Sendable, CaseIterable {
        case otherAuthority
        case otherName
        case expired
    }

    public static let user = "sallyport"
    /// The password of that user, until it is changed.
    public static let password = "initial-secret"
    /// The password of whoever may do everything: tests, as the user `default`.
    static let adminPassword = "everything"

    private let directory: ScratchDirectory
    public let authority: TestCertificate
    private let stranger: TestCertificate
    private let rights: String
    private let addedRights: String
    private let sentinelRights: String

    /// The rights that only a cluster asks for.
    public static let clusterRights = "+cluster|slots +cluster|info +asking"

    /// `added`: rights beside those that every gateway needs.
    public init(adding added: String = "") throws {
        directory = try ScratchDirectory()
        authority = try TestCertificate.authority(in: directory)
        stranger = try TestCertificate.authority(in: directory, "stranger")
        let page = try Repository.text(of: "docs/operations/stores.md")
        rights = try Self.rights(in: page, after: "ACL SETUSER sallyport on >PASSWORD resetkeys")
        sentinelRights = try Self.rights(
            in: page, after: "ACL SETUSER sallyport on >PASSWORD resetchannels")
        addedRights = added
        try write("server", issuer: authority)
        try renewClientCertificate()
        try writeUsers(password: Self.password)
    }

    /// The words of the page from `start` to the end of its block, without its first words.
    private static func rights(in page: String, after start: String) throws -> String {
        guard let found = page.range(of: start) else {
            throw ChildProcessError(description: "docs/operations/stores.md: no \(start)")
        }
        let block = page[found.upperBound...].prefix(while: { $0 != "\n" })
        let rest = page[block.endIndex...].split(separator: "\n", omittingEmptySubsequences: false)
            .dropFirst().prefix { !$0.isEmpty }
        let last = start.split(separator: " ").last.map(String.init) ?? ""
        return ([last, String(block)] + rest.map(String.init)).joined(separator: " ")
            .split(separator: " ").joined(separator: " ")
    }

    // MARK: certificates

    @discardableResult
    private func write(
        _ name: String, names: [String] = ["127.0.0.1"], issuer: TestCertificate
    ) throws -> TestCertificate {
        try TestCertificate(in: directory, name, names: names, issuer: issuer)
    }

    /// Has servers show a new certificate by the right authority; connections that stand stay.
    public func renew(_ servers: [RedisServer]) throws {
        try write("server", issuer: authority)
        try show(servers)
    }

    /// Has servers show one that nobody should believe: without any, those that start from now on.
    public func impose(_ imposture: Imposture, on servers: [RedisServer]) throws {
        switch imposture {
        case .otherAuthority: try write("server", issuer: stranger)
        case .otherName: try write("server", names: ["redis.example"], issuer: authority)
        case .expired: try write("server", issuer: authority).expire(by: authority)
        }
        try show(servers)
    }

    private func show(_ servers: [RedisServer]) throws {
        for server in servers {
            try server.command(
                "CONFIG", "SET", "tls-cert-file", directory.path(of: "server.crt"),
                "tls-key-file", directory.path(of: "server.key"))
        }
    }

    /// Writes the certificate that gateways show; they take it up by a reload.
    public func renewClientCertificate(byStranger isByStranger: Bool = false) throws {
        try write("gateway", names: [], issuer: isByStranger ? stranger : authority)
    }

    // MARK: users

    /// Writes what servers begin with, and the file in which gateways find the password.
    private func writeUsers(password: String) throws {
        let others =
            "user default on >\(Self.adminPassword) ~* &* +@all\n"
            + "user server on >between ~* &* +@all\n"
        let user = "user \(Self.user) on >\(password) "
        try directory.write("\(others)\(user)\(rights) \(addedRights)\n", to: "users.acl")
        try directory.write(others + user + sentinelRights + "\n", to: "sentinels.acl")
        try directory.write("\(password)\n", to: "password")
    }

    /// Has gateways log in with another password, which they take up by a reload.
    public func changePassword(to password: String, at servers: [RedisServer]) throws {
        for server in servers {
            try server.command("ACL", "SETUSER", Self.user, "resetpass", ">\(password)")
        }
        try writeUsers(password: password)
    }

    /// Gives or takes one right: `+get`, `-get`.
    public func change(_ right: String, at servers: [RedisServer]) throws {
        for server in servers { try server.command("ACL", "SETUSER", Self.user, right) }
    }

    /// Ends the gateways' connections, so that they have to come in again.
    public static func cut(_ servers: [RedisServer]) throws {
        for server in servers { try server.command("CLIENT", "KILL", "USER", user) }
    }

    public func deleteUser(at servers: [RedisServer]) throws {
        for server in servers { try server.command("ACL", "DELUSER", Self.user) }
    }

    /// Gives the user and its rights back, with the present password.
    public func restoreUsers(at servers: [RedisServer]) throws {
        for server in servers { try server.command("ACL", "LOAD") }
    }

    // MARK: options and settings

    /// Options of a server that has its only port, with TLS, at `port`.
    func options(port: UInt16, isSentinel: Bool = false) -> [String] {
        let users = directory.path(of: isSentinel ? "sentinels.acl" : "users.acl")
        let replication =
            isSentinel
            ? [] : ["--tls-cluster", "yes", "--masteruser", "server", "--masterauth", "between"]
        return [
            "--port", "0", "--tls-port", "\(port)", "--tls-auth-clients", "yes",
            "--tls-replication", "yes", "--tls-cert-file", directory.path(of: "server.crt"),
            "--tls-key-file", directory.path(of: "server.key"), "--tls-ca-cert-file",
            authority.certificatePath, "--aclfile", users,
        ] + replication
    }

    /// Lines of a Sentinel's configuration about a master and its fellows.
    static func sentinelLines(master: String) -> String {
        """
        sentinel auth-user \(master) server
        sentinel auth-pass \(master) between
        sentinel sentinel-user server
        sentinel sentinel-pass between

        """
    }

    /// How a gateway comes in: settings beside the place of `counters.redis`, and of Sentinels.
    public var settings: String {
        """
        username: \(Self.user), password_file: \(directory.path(of: "password")), \
        tls: { ca: \(authority.certificatePath), \
        certificate: \(directory.path(of: "gateway.crt")), \
        key: \(directory.path(of: "gateway.key")) }
        """
    }
}
