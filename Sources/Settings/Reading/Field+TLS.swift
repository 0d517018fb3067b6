import TLS

extension Field {
    /// The bytes of the file that this field names.
    func fileContents() -> (path: String, bytes: [UInt8])? {
        guard let path = filePath() else { return nil }
        switch context.readFile(path) {
        case .success(let bytes): return (path, bytes)
        case .failure(let failure):
            error("\"\(path)\" cannot be read: \(failure)")
            return nil
        }
    }

    /// The authorities of a PEM file, with what they have revoked where `crl` names a file.
    func authorities(revokedIn crl: Field?) -> ReadAuthorities? {
        let revocations = crl?.revocations()
        guard let (path, bytes) = fileContents() else { return nil }
        if crl != nil, revocations == nil { return nil }
        do throws(TLSError) {
            let authorities = try TLSAuthorities(pem: bytes, revocations: revocations?.list)
            for subject in authorities.withoutRevocations {
                crl?.warning("has no list of \(subject): all its certificates are refused")
            }
            return ReadAuthorities(
                path: path, revocationsPath: revocations?.path, authorities: authorities)
        } catch {
            self.error("\"\(path)\": \(error)")
            return nil
        }
    }

    private func revocations() -> (path: String, list: TLSRevocations)? {
        guard let (path, bytes) = fileContents() else { return nil }
        do throws(TLSError) {
            let list = try TLSRevocations(pem: bytes)
            if list.isExpired {
                warning("\"\(path)\" HAS EXPIRED: certificates of its authorities are refused")
            }
            return (path, list)
        } catch {
            self.error("\"\(path)\": \(error)")
            return nil
        }
    }

    /// Those that the system trusts.
    func systemAuthorities() -> TLSAuthorities? {
        for path in TLSAuthorities.systemBundlePaths {
            guard case .success(let bytes) = context.readFile(path) else { continue }
            if let authorities = try? TLSAuthorities(pem: bytes) { return authorities }
        }
        error("the system has no bundle of authorities: name a file in ca")
        return nil
    }

    /// A text that `check` takes, which may name what OpenSSL lacks.
    func text(_ check: (String) throws(TLSError) -> Void) -> String? {
        guard let text = text() else { return nil }
        do throws(TLSError) {
            try check(text.value)
            return text.value
        } catch {
            self.error("\(error)")
            return nil
        }
    }
}

/// What the fields `ca` and `crl` name.
struct ReadAuthorities {
    var path: String
    var revocationsPath: String?
    var authorities: TLSAuthorities
}

/// Reads `certificate`, `key` and `ocsp` of one section; both or neither of the first two.
enum CertificateReader {
    struct Read {
        var files: CertificateFiles
        var identity: TLSIdentity
        var staple: OCSPStaple?
    }

    /// The three of a section that are read by ``certificate(_:isRequired:)``.
    static func form<Root>(
        _ start: Root, _ files: @escaping (Root) -> CertificateFiles?
    ) -> Form<Root> {
        func write(
            _ key: String, _ path: @escaping (CertificateFiles) -> String?
        ) -> (Root, inout YAMLText) -> Void {
            { root, yaml in
                if let path = files(root).flatMap(path) { yaml.entry(key, text: path) }
            }
        }
        return Form(start) {
            Setting(
                "certificate", .path, "The certificate with its issuers behind it, in PEM.",
                write: write("certificate", \.certificatePath))
            Setting("key", .path, "Its private key, in PEM.", write: write("key", \.keyPath))
            Setting(
                "ocsp", .path, "An OCSP response in DER, stapled while it is valid.",
                write: write("ocsp", \.ocspPath))
        }
    }

    static func certificate(_ section: inout Section, isRequired: Bool) -> Read? {
        var certificateField = section.field("certificate")
        var keyField = section.field("key")
        let ocspField = section.field("ocsp")
        if isRequired || certificateField != nil || keyField != nil {
            certificateField = section.required("certificate")
            keyField = section.required("key")
        } else {
            ocspField?.error("belongs to a certificate: there is none beside it")
        }
        let certificate = certificateField?.fileContents()
        let key = keyField?.fileContents()
        let staple = ocspField.flatMap(staple)
        guard let certificateField, let certificate, let key else { return nil }
        let identity: TLSIdentity
        do throws(TLSError) {
            identity = try TLSIdentity(certificatePEM: certificate.bytes, keyPEM: key.bytes)
        } catch {
            certificateField.error("\"\(certificate.path)\" with \"\(key.path)\": \(error)")
            return nil
        }
        if let staple, !staple.staple.isAbout(identity) {
            ocspField?.error("\"\(staple.path)\" is about another certificate")
        }
        switch identity.validity {
        case .valid: break
        case .notYet: certificateField.warning("\"\(certificate.path)\" is not valid yet")
        case .expired: certificateField.warning("\"\(certificate.path)\" HAS EXPIRED")
        }
        return Read(
            files: CertificateFiles(
                certificatePath: certificate.path, keyPath: key.path, ocspPath: staple?.path),
            identity: identity, staple: staple?.staple)
    }

    private static func staple(_ field: Field) -> (path: String, staple: OCSPStaple)? {
        guard let (path, bytes) = field.fileContents() else { return nil }
        do throws(TLSError) {
            let staple = try OCSPStaple(der: bytes)
            if staple.isExpired { field.warning("\"\(path)\" has expired: it is not sent") }
            return (path, staple)
        } catch {
            field.error("\"\(path)\": \(error)")
            return nil
        }
    }
}
