import Crypto

extension TrustSettings {
    static var form: Form<TrustSettings> {
        let android = Form(TrustSettings()) {
            Setting(
                "extra_roots", \.androidRootFiles, .list(.rootFile),
                "Root certificates in PEM that are accepted like Google's, for tests only. A "
                    + "holder of such a root's key can imitate every phone."
            ) { field, trust in
                if !trust.androidRoots.isEmpty { field.warning(warning) }
            }
            Setting(
                "revocation", \.androidRevocation, AndroidRevocationReader.kind,
                "The list of attestation certificates that were withdrawn. Their keys cannot "
                    + "enrol, and those that have are revoked. off: none is looked up.")
        }
        return Form(TrustSettings()) {
            Setting(
                "extra_roots", \.rootFiles, .list(.rootFile),
                "Root certificates in PEM that are accepted like Apple's, for tests only. A holder "
                    + "of such a root's key can imitate every device."
            ) { field, trust in
                if !trust.extraRoots.isEmpty { field.warning(warning) }
            }
            Setting(
                "clock_skew", \.clockSkew,
                .duration(.zero, .seconds(3600), "leaf certificates live three days"),
                "How far this machine's clock may be off when certificates are checked.")
            Setting("android", group: android, "What is trusted of Android phones.")
        }
    }

    private static let warning =
        "THE HOLDER OF THE KEY OF AN EXTRA ROOT CAN IMITATE EVERY DEVICE: "
        + "for tests only, never in production"

    /// The files of the extra roots. Printing needs only the paths, so the certificates are empty.
    fileprivate var rootFiles: [RootFile] {
        get { extraRootPaths.map { RootFile(path: $0, certificates: []) } }
        set {
            extraRootPaths = newValue.map(\.path)
            extraRoots = newValue.flatMap(\.certificates)
        }
    }
}

extension TrustSettings {
    fileprivate var androidRootFiles: [RootFile] {
        get { androidRootPaths.map { RootFile(path: $0, certificates: []) } }
        set {
            androidRootPaths = newValue.map(\.path)
            androidRoots = newValue.flatMap(\.certificates)
        }
    }
}

private struct RootFile: Hashable {
    let path: String
    let certificates: [[UInt8]]
}

extension Kind where Value == RootFile {
    fileprivate static var rootFile: Kind {
        .file(path: \.path) { path, bytes throws(Fault) in
            do throws(CryptoError) {
                return RootFile(
                    path: path, certificates: try Certificate.parsePEM(bytes).map(\.der))
            } catch {
                throw Fault("is not a file of PEM certificates: \(error)")
            }
        }
    }
}
