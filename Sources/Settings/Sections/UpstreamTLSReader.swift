import TLS

/// Reads `upstreams.NAME.tls`.
enum UpstreamTLSReader {
    static func tls(_ field: Field, servers: [Endpoint]) -> UpstreamTLSSettings? {
        field.section { section in
            var settings = form.start
            form.read(&section, into: &settings)
            settings.configuration.authorities = authorities(&section, field, &settings)
            if let read = CertificateReader.certificate(&section, isRequired: false) {
                settings.files = read.files
                settings.configuration.identity = read.identity
            }
            if settings.verifies, settings.serverName == nil, servers.contains(where: \.isUnix) {
                field.error("a server at a unix socket needs a server_name to be checked against")
            }
            do throws(TLSError) {
                _ = try TLSClientContext(settings.configuration)
            } catch {
                field.error("\(error)")
            }
            return settings
        }
    }

    static func write(_ tls: UpstreamTLSSettings, to yaml: inout YAMLText) {
        yaml.mapping("tls") { form.write(tls, to: &$0) }
    }

    /// All but the authorities and the certificate is read from it.
    static var form: Form<UpstreamTLSSettings> {
        let start = UpstreamTLSSettings(configuration: TLSClientConfiguration(authorities: nil))
        return Form(start) {
            Setting(
                "verify", \.verifies, .onOff,
                "Whether the server must prove who it is. off: whoever answers is believed.")
            Setting(
                "ca", shown: \.authoritiesPath, .path,
                "Authorities in PEM. Left out: those of the system.")
            Setting(
                "crl", shown: \.revocationsPath, .path,
                "Revocation lists in PEM, of every authority in ca.")
            Setting(
                "server_name", optional: \.serverName, .text(.text("host"), serverName),
                "Asked for and looked for in the certificate. Left out: the server's own host.")
            CertificateReader.form(start, \.files)
            TLSParameters.form(
                start, \.configuration.minimumVersion, \.configuration.ciphers,
                \.configuration.cipherSuites, \.configuration.groups)
            Setting(
                "session_reuse", \.configuration.resumesSessions, .onOff,
                "Resume sessions with a server for up to an hour after its certificate was looked "
                    + "at: spares both sides the signatures.")
        }
    }

    private static func serverName(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        do throws(EndpointText.Fault) {
            return try EndpointText.host(text.value[...])
        } catch {
            field.error("\(text.shown) \(error.message)")
            return nil
        }
    }

    private static func authorities(
        _ section: inout Section, _ field: Field, _ settings: inout UpstreamTLSSettings
    ) -> TLSAuthorities? {
        let caField = section.field("ca")
        let crlField = section.field("crl")
        guard settings.verifies else {
            caField?.error("has no use with verify: off")
            crlField?.error("has no use with verify: off")
            field.warning("verify is off: whoever answers is believed and reads every request")
            return nil
        }
        if let caField {
            guard let read = caField.authorities(revokedIn: crlField) else { return nil }
            settings.authoritiesPath = read.path
            settings.revocationsPath = read.revocationsPath
            return read.authorities
        }
        crlField?.error("needs ca: nobody has the lists of all that the system trusts")
        return field.systemAuthorities()
    }

    /// TLS by the system's authorities, where nothing else is said.
    static func standard(_ field: Field) -> UpstreamTLSSettings? {
        field.systemAuthorities().map { authorities in
            UpstreamTLSSettings(
                configuration: TLSClientConfiguration(authorities: authorities))
        }
    }
}
