import TLS

/// What listeners and upstreams declare of TLS alike.
enum TLSParameters {
    static func form<Root>(
        _ start: Root, _ version: WritableKeyPath<Root, TLSVersion>,
        _ ciphers: WritableKeyPath<Root, String>, _ cipherSuites: WritableKeyPath<Root, String>,
        _ groups: WritableKeyPath<Root, String>
    ) -> Form<Root> {
        Form(start) {
            Setting("min_version", version, .word, "The lowest version of TLS.")
            Setting(
                "ciphers", ciphers, .text(.text("OpenSSL's form")) { $0.text(TLSCheck.ciphers) },
                "Ciphers of TLS 1.2.")
            Setting(
                "cipher_suites", cipherSuites,
                .text(.text("OpenSSL's form")) { $0.text(TLSCheck.cipherSuites) },
                "Cipher suites of TLS 1.3.")
            Setting(
                "groups", groups, .text(.text("OpenSSL's form")) { $0.text(TLSCheck.groups) },
                "Groups of the key exchange. One with ? is left out if the library lacks it.")
        }
    }
}
