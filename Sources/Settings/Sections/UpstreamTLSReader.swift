import TLS

/// Declares `upstreams.NAME.tls`, and TLS to other servers.
enum UpstreamTLSReader {
    static func kind(to servers: [Endpoint]) -> Kind<UpstreamTLSSettings> {
        .section(form) { section, settings in
            let tls = settings
            settings.configuration.authorities = authorities(&section, tls)
            settings.configuration.identity =
                settings.namedFiles.load(&section, isRequired: false)?.identity
            if tls.verifies, tls.serverName == nil, servers.contains(where: \.isUnix) {
                section.error(
                    "a server at a unix socket needs a server_name to be checked against")
            }
            do throws(TLSError) {
                _ = try TLSClientContext(settings.configuration)
            } catch {
                section.error("\(error)")
            }
        }
    }

    private static var form: Form<UpstreamTLSSettings> {
        Form(UpstreamTLSSettings(configuration: TLSClientConfiguration(authorities: nil))) {
            Setting(
                "verify", \.verifies, .onOff,
                "off: any server is believed.")
            Setting(
                "ca", optional: \.authoritiesPath, .path,
                "Authorities in PEM. If left out, the system's.")
            Setting(
                "crl", optional: \.revocationsPath, .path,
                "Revocation lists in PEM, of every authority in ca.")
            Setting(
                "server_name", optional: \.serverName,
                Kind(.text("host"), text: \.self) { text throws(Fault) in
                    try EndpointText.host(text[...])
                },
                "The name in the certificate. If left out, the server's host.")
            CertificateFiles.settings(\.namedFiles)
            TLSParameters.settings(
                \.configuration.minimumVersion, \.configuration.ciphers,
                \.configuration.cipherSuites, \.configuration.groups)
            Setting(
                "session_reuse", \.configuration.resumesSessions, .onOff,
                "Sessions are resumed for up to an hour.")
        }
    }

    private static func authorities(
        _ section: inout Section, _ settings: UpstreamTLSSettings
    ) -> TLSAuthorities? {
        let (ca, crl) = (section.field("ca"), section.field("crl"))
        guard settings.verifies else {
            ca?.error("has no use with verify: off")
            crl?.error("has no use with verify: off")
            section.warning(
                "verify is off: any server that answers is trusted and reads every request")
            return nil
        }
        if ca != nil { return section.good("ca")?.authorities(revokedIn: section.good("crl")) }
        crl?.error("needs ca: no file has the lists of all authorities that the system trusts")
        return section.place.systemAuthorities()
    }

    /// The default: TLS with the authorities that the system trusts.
    static func standard(_ field: Field) -> UpstreamTLSSettings? {
        field.systemAuthorities().map { authorities in
            UpstreamTLSSettings(
                configuration: TLSClientConfiguration(authorities: authorities))
        }
    }
}

extension UpstreamTLSSettings {
    fileprivate var namedFiles: CertificateFiles {
        get { files ?? CertificateFiles() }
        set { files = newValue }
    }
}
