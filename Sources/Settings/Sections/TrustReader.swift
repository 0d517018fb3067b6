import Crypto

/// Reads `trust`.
enum TrustReader {
    private struct RootFile: Hashable {
        let path: String
        let certificates: [[UInt8]]
    }

    static func trust(_ field: Field) -> TrustSettings? {
        field.section { section in
            var trust = TrustSettings()
            section.set("clock_skew", &trust.clockSkew) {
                $0.duration(.zero, .seconds(3600), "leaf certificates live three days")
            }
            if let field = section.field("extra_roots"), let files = field.list(rootFile) {
                trust.extraRootPaths = files.map(\.path)
                trust.extraRoots = files.flatMap(\.certificates)
                if !files.isEmpty { field.warning(warning) }
            }
            return trust
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
