import TLS

/// Writes the `tls` of listeners and upstreams, every key with its value.
enum TLSPrinter {
    static func write(_ tls: ListenerTLSSettings, to yaml: inout YAMLText) {
        let configuration = tls.configuration
        yaml.mapping("tls") { yaml in
            yaml.list("certificates", tls.files) { yaml, files in write(files, to: &yaml) }
            yaml.entry("min_version", configuration.minimumVersion.rawValue)
            yaml.entry("ciphers", text: configuration.ciphers)
            yaml.entry("cipher_suites", text: configuration.cipherSuites)
            yaml.entry("groups", text: configuration.groups)
            if configuration.hasTickets {
                yaml.mapping("session_tickets") { yaml in
                    yaml.entry("lifetime", Quantity.describe(tls.tickets.lifetime))
                    if !tls.tickets.keyPaths.isEmpty {
                        yaml.entry("keys", list: tls.tickets.keyPaths)
                    }
                }
            } else {
                yaml.entry("session_tickets", "off")
            }
            guard let clients = configuration.clientCertificates,
                let path = tls.clientAuthoritiesPath
            else { return yaml.entry("client_certificates", "off") }
            yaml.mapping("client_certificates") { yaml in
                yaml.entry("mode", clients.isRequired ? "require" : "request")
                yaml.entry("ca", text: path)
                if let path = tls.clientRevocationsPath { yaml.entry("crl", text: path) }
                yaml.entry("depth", "\(clients.depthMax)")
            }
        }
    }

    static func write(_ tls: UpstreamTLSSettings, to yaml: inout YAMLText) {
        let configuration = tls.configuration
        yaml.mapping("tls") { yaml in
            yaml.entry("verify", tls.verifies ? "on" : "off")
            if let path = tls.authoritiesPath { yaml.entry("ca", text: path) }
            if let path = tls.revocationsPath { yaml.entry("crl", text: path) }
            if let name = tls.serverName { yaml.entry("server_name", text: name) }
            if let files = tls.files { write(files, to: &yaml) }
            yaml.entry("min_version", configuration.minimumVersion.rawValue)
            yaml.entry("ciphers", text: configuration.ciphers)
            yaml.entry("cipher_suites", text: configuration.cipherSuites)
            yaml.entry("groups", text: configuration.groups)
            yaml.entry("session_reuse", configuration.resumesSessions ? "on" : "off")
        }
    }

    private static func write(_ files: CertificateFiles, to yaml: inout YAMLText) {
        yaml.entry("certificate", text: files.certificatePath)
        yaml.entry("key", text: files.keyPath)
        if let path = files.ocspPath { yaml.entry("ocsp", text: path) }
    }
}
