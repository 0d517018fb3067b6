import Crypto
import TLS

extension Field {
    /// The bytes of the file that this field names. `ending`: a hint for the message if the file
    /// cannot be read.
    func fileContents(_ ending: String = "") -> (path: String, bytes: [UInt8])? {
        guard let path = filePath() else { return nil }
        switch context.readFile(path) {
        case .success(let bytes): return (path, bytes)
        case .failure(let failure):
            error("\"\(path)\" cannot be read: \(failure)\(ending)")
            return nil
        }
    }

    /// The result of `parse` for the file that this field names. `ending`: a hint for the message
    /// if the file cannot be read.
    func file<Value>(
        ending: String = "",
        _ parse: (_ path: String, _ bytes: [UInt8]) throws(Fault) -> Value
    ) -> Value? {
        guard let (path, bytes) = fileContents(ending) else { return nil }
        do throws(Fault) {
            return try parse(path, bytes)
        } catch {
            self.error("\"\(path)\" \(error.message)")
            return nil
        }
    }

    /// The result of `parse` for a file that holds a secret. The bytes that were read are
    /// overwritten, so that only the result keeps the secret.
    func secretFile<Value>(
        _ parse: (_ path: String, _ bytes: [UInt8]) throws(Fault) -> Value
    ) -> Value? {
        guard var file = fileContents() else { return nil }
        defer { file.bytes.wipe() }
        do throws(Fault) {
            return try parse(file.path, file.bytes)
        } catch {
            self.error("\"\(file.path)\" \(error.message)")
            return nil
        }
    }

    /// The result of `parse` for a file with a certificate, a key or a list.
    private func tlsFile<Value>(
        _ parse: (_ path: String, _ bytes: [UInt8]) throws(TLSError) -> Value
    ) -> Value? {
        guard let (path, bytes) = fileContents() else { return nil }
        do throws(TLSError) {
            return try parse(path, bytes)
        } catch {
            self.error("\"\(path)\": \(error)")
            return nil
        }
    }

    /// The authorities in a PEM file, with their revocation lists if `crl` names a file.
    func authorities(revokedIn crl: Field? = nil) -> TLSAuthorities? {
        let revocations = crl?.revocations()
        let authorities = tlsFile { _, bytes throws(TLSError) in
            try TLSAuthorities(pem: bytes, revocations: revocations)
        }
        if crl != nil, revocations == nil { return nil }
        for subject in authorities?.withoutRevocations ?? [] {
            crl?.warning("has no list of \(subject): all its certificates are refused")
        }
        return authorities
    }

    private func revocations() -> TLSRevocations? {
        tlsFile { path, bytes throws(TLSError) in
            let list = try TLSRevocations(pem: bytes)
            if list.isExpired {
                warning("\"\(path)\" HAS EXPIRED: certificates of its authorities are refused")
            }
            return list
        }
    }

    /// An OCSP response.
    fileprivate func staple() -> OCSPStaple? {
        tlsFile { path, bytes throws(TLSError) in
            let staple = try OCSPStaple(der: bytes)
            if staple.isExpired { warning("\"\(path)\" has expired: it is not sent") }
            return staple
        }
    }

    /// The authorities that the system trusts.
    func systemAuthorities() -> TLSAuthorities? {
        for path in TLSAuthorities.systemBundlePaths {
            guard case .success(let bytes) = context.readFile(path) else { continue }
            if let authorities = try? TLSAuthorities(pem: bytes) { return authorities }
        }
        error("the system has no bundle of authorities: name a file in ca")
        return nil
    }
}

extension CertificateFiles {
    /// The keys of a section that names a certificate.
    @FormBuilder<Root>
    static func settings<Root>(
        _ path: WritableKeyPath<Root, CertificateFiles>
    ) -> [Setting<Root>] {
        Setting(
            "certificate", path.appending(path: \.certificatePath), .path.unlessEmpty,
            "The certificate in PEM, followed by its issuers.")
        Setting(
            "key", path.appending(path: \.keyPath), .path.unlessEmpty,
            "The certificate's private key, in PEM.")
        Setting(
            "ocsp", optional: path.appending(path: \.ocspPath), .path,
            "An OCSP response in DER. It is stapled while it is valid.")
    }

    /// Reads the files. Both or neither of the certificate and its key are given; both if
    /// `isRequired`.
    func load(
        _ section: inout Section, isRequired: Bool
    ) -> TLSServerConfiguration.Certificate? {
        let ocsp = section.field("ocsp")
        guard
            isRequired || section.field("certificate") != nil || section.field("key") != nil
        else {
            ocsp?.error("belongs to a certificate: there is none beside it")
            return nil
        }
        for key in ["certificate", "key"] { _ = section.required(key) }
        let certificateField = section.good("certificate")
        let certificate = certificateField?.fileContents()
        let keyField = section.good("key")
        let key = keyField?.fileContents()
        let staple = section.good("ocsp")?.staple()
        guard let certificateField, let certificate, var key else { return nil }
        defer { key.bytes.wipe() }
        let identity: TLSIdentity
        do throws(TLSError) {
            identity = try TLSIdentity(certificatePEM: certificate.bytes, keyPEM: key.bytes)
        } catch {
            if error.isAboutKey {
                keyField?.error("\"\(key.path)\" \(error)")
            } else {
                certificateField.error("\"\(certificate.path)\" with \"\(key.path)\": \(error)")
            }
            return nil
        }
        if let staple, !staple.isAbout(identity) {
            ocsp?.error("\"\(ocspPath ?? "")\" is about another certificate")
        }
        switch identity.validity {
        case .valid: break
        case .notYet: certificateField.warning("\"\(certificate.path)\" is not valid yet")
        case .expired: certificateField.warning("\"\(certificate.path)\" HAS EXPIRED")
        }
        return TLSServerConfiguration.Certificate(identity: identity, staple: staple)
    }
}
