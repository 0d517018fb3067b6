import EventLoop
import TLS

/// The scheme, host and port of a gateway.
struct GatewayOrigin: CustomStringConvertible {
    /// True for `https`.
    let isSecure: Bool
    /// `HOST:PORT`.
    let authority: String

    /// The authority alone without TLS, as files of devices keep it.
    var description: String { isSecure ? url : authority }

    var url: String { (isSecure ? "https://" : "http://") + authority }

    /// The check of the gateway's certificate; nil without TLS.
    ///
    /// - Parameter authoritiesPath: The PEM file of the authorities that vouch for the gateway; nil
    ///   for those of the system.
    func check(authoritiesPath: String?) throws -> GatewayCheck? {
        guard isSecure else {
            guard authoritiesPath == nil else {
                throw LabError("\(url): only an https URL has a certificate to check")
            }
            return nil
        }
        let system = TLSAuthorities.systemBundlePaths.first(where: File.exists)
        guard let path = authoritiesPath ?? system else {
            throw LabError("the system has no file of authorities: name one by --ca")
        }
        let pem = try LabFile.read(path)
        do throws(TLSError) {
            return try GatewayCheck(authority, try TLSAuthorities(pem: pem))
        } catch {
            throw LabError("\(path): \(error)")
        }
    }
}

/// A gateway's expected name, and the authorities that may vouch for it.
struct GatewayCheck {
    private let context: TLSClientContext
    private let serverName: String
    private let isAddress: Bool

    /// `authority`: `HOST:PORT`, whose host the certificate must have.
    init(_ authority: String, _ authorities: TLSAuthorities) throws(TLSError) {
        var configuration = TLSClientConfiguration(authorities: authorities)
        configuration.protocols = ["http/1.1"]
        configuration.resumesSessions = false
        context = try TLSClientContext(configuration)
        serverName = SocketAddress.host(of: authority[...])
        isAddress = SocketAddress.numeric(host: serverName, port: 0) != nil
    }

    func session(_ descriptor: Int32) throws -> TLSSession {
        try TLSSession(
            client: context, serverName: serverName, isAddress: isAddress, descriptor: descriptor)
    }
}
