import GatewayTesting
import TLS

extension Operation {
    /// What a configuration names: identities, authorities and contexts.
    static func parameters(_ inputs: Inputs) throws -> [Operation] {
        let server = try inputs.server.certificatePEM + inputs.authority.certificatePEM
        let key = try inputs.server.keyPEM
        let strangeKey = try inputs.stranger.keyPEM
        let authority = try inputs.authority.certificatePEM
        let identity = try TLSIdentity(certificatePEM: server, keyPEM: key)
        let stranger = try TLSAuthorities(pem: inputs.stranger.certificatePEM)
        return [
            Operation("identity: read") {
                .same(as: true) {
                    let read = try TLSIdentity(certificatePEM: server, keyPEM: key)
                    return read == identity && read.names == identity.names
                }
            },
            Operation("identity: another's key") {
                .bad { try !TLSIdentity(certificatePEM: server, keyPEM: strangeKey).names.isEmpty }
            },
            Operation("authorities: with revocations") {
                .good {
                    let revocations = try TLSRevocations(pem: inputs.revocationsPEM)
                    return try TLSAuthorities(pem: authority, revocations: revocations)
                        .withoutRevocations.isEmpty
                }
            },
            Operation("authorities: without revocations of theirs") {
                .same(as: 1) {
                    let revocations = try TLSRevocations(pem: inputs.revocationsPEM)
                    return try TLSAuthorities(
                        pem: inputs.stranger.certificatePEM, revocations: revocations
                    ).withoutRevocations.count
                }
            },
            Operation("context: server") {
                .good {
                    var configuration = TLSServerConfiguration(certificates: [
                        .init(identity: identity)
                    ])
                    configuration.protocols = ["h2", "http/1.1"]
                    configuration.clientCertificates = .init(
                        isRequired: true, authorities: stranger)
                    let keys = TLSTicketKeys(keys: [ticketKey], lifetime: .seconds(60))
                    return try TLSServerContext(configuration, ticketKeys: keys)
                        .unusedCertificates.isEmpty
                }
            },
            Operation("context: client") {
                .good {
                    var configuration = TLSClientConfiguration(authorities: stranger)
                    configuration.identity = identity
                    configuration.protocols = ["h2"]
                    return try TLSClientContext(configuration).configuration.resumesSessions
                }
            },
            Operation("parameters: checked") {
                .good {
                    try TLSCheck.ciphers(TLSServerConfiguration.defaultCiphers)
                    try TLSCheck.cipherSuites(TLSServerConfiguration.defaultCipherSuites)
                    try TLSCheck.groups(TLSServerConfiguration.defaultGroups)
                    return true
                }
            },
        ]
    }

    static let ticketKey = [UInt8](repeating: 7, count: TLSTicketKeys.byteCount)
}
