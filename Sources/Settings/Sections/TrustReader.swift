import Crypto

/// Reads `trust`.
enum TrustReader {
    private struct RootFile: Hashable {
        let path: String
        let certificates: [[UInt8]]
    }

    static var form: Form<TrustSettings> {
        Form(TrustSettings()) {
            Setting(
                "extra_roots", .list(.path),
                "PEM files of root certificates accepted like Apple's: for tests with a simulated "
                    + "device. Whoever holds such a root's key can imitate every device."
            ) { section, trust in
                if let field = section.field("extra_roots"), let files = field.list(rootFile) {
                    trust.extraRootPaths = files.map(\.path)
                    trust.extraRoots = files.flatMap(\.certificates)
                    if !files.isEmpty { field.warning(warning) }
                }
            } write: { trust, yaml in
                yaml.entry("extra_roots", list: trust.extraRootPaths)
            }
            Setting(
                "clock_skew", \.clockSkew,
                .duration(.zero, .seconds(3600), "leaf certificates live three days"),
                "How far this machine's clock may be off when the dates of certificates are "
                    + "checked.")
        }
    }

    private static let warning =
        "WHOEVER HOLDS THE KEY OF AN EXTRA ROOT CAN IMITATE EVERY DEVICE: "
        + "for tests only, never in production"

    private static func rootFile(_ field: Field) -> RootFile? {
        guard let path = field.filePath() else { return nil }
        switch field.context.readFile(path) {
        case .failure(let failure): field.error("\"\(path)\" cannot be read: \(failure)")
        case .success(let text):
            do throws(CryptoError) {
                let certificates = try Certificate.parsePEM(text)
                return RootFile(path: path, certificates: certificates.map(\.der))
            } catch {
                field.error("\"\(path)\" is not a file of PEM certificates: \(error)")
            }
        }
        return nil
    }
}
