import TLS

/// The settings that the TLS of listeners and of upstreams have in common.
enum TLSParameters {
    @FormBuilder<Root>
    static func settings<Root>(
        _ version: WritableKeyPath<Root, TLSVersion>, _ ciphers: WritableKeyPath<Root, String>,
        _ cipherSuites: WritableKeyPath<Root, String>, _ groups: WritableKeyPath<Root, String>
    ) -> [Setting<Root>] {
        Setting("min_version", version, .word, "The oldest version of TLS.")
        Setting("ciphers", ciphers, text(TLSCheck.ciphers), "The ciphers of TLS 1.2.")
        Setting(
            "cipher_suites", cipherSuites, text(TLSCheck.cipherSuites),
            "The cipher suites of TLS 1.3.")
        Setting(
            "groups", groups, text(TLSCheck.groups),
            "The groups of the key exchange, with ? if the library has them.")
    }

    /// A text that `check` accepts. Its message may name items that OpenSSL does not know.
    private static func text(
        _ check: @escaping (String) throws(TLSError) -> Void
    ) -> Kind<String> {
        .text(.text("OpenSSL's form")) { field in
            guard let text = field.text() else { return nil }
            do throws(TLSError) {
                try check(text.value)
                return text.value
            } catch {
                field.error("\(error)")
                return nil
            }
        }
    }
}
