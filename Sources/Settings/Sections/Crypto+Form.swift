extension CryptoSettings {
    static var form: Form<CryptoSettings> {
        Form(CryptoSettings()) {
            Setting(
                "batch", \.batches, .words([("auto", true), ("off", false)]),
                "Whether up to eight signatures are verified together. auto: if Intel's library "
                    + "crypto_mb is there and the processor has AVX-512 IFMA. Otherwise OpenSSL "
                    + "verifies one at a time.")
            Setting(
                "library", optional: \.library, .path,
                "The file of that library (libcrypto_mb.so.13), with the compiler's libraries that "
                    + "it needs beside it. If left out, the system's library path is searched.")
            Setting(
                "audit", \.auditPercent,
                .share(1...100, "without repeats, the errors of a faulty library stay unnoticed"),
                "The share of the library's verdicts that OpenSSL repeats. After one difference "
                    + "the library is not used until a restart.")
        }
    }
}
