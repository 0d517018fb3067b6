extension CryptoSettings {
    static var form: Form<CryptoSettings> {
        Form(CryptoSettings()) {
            Setting(
                "batch", \.batches, .words([("auto", true), ("off", false)]),
                "Whether the signatures that come together are verified together, up to eight at "
                    + "once. auto: if Intel's library crypto_mb is there and the processor has "
                    + "AVX-512 IFMA. off, or without either: one at a time, by OpenSSL.")
            Setting(
                "library", optional: \.library, .path,
                "The file of that library (libcrypto_mb.so.13). The compiler's libraries that it "
                    + "needs are found beside it. If left out, it is looked for where the system "
                    + "looks for libraries.")
            Setting(
                "audit", \.auditPercent,
                .share(1...100, "a library whose verdicts nobody repeats could be wrong for ever"),
                "The share of the library's verdicts that OpenSSL repeats. If one differs, the "
                    + "library is not used again before a restart.")
        }
    }
}
