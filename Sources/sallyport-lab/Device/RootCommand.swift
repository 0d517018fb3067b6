import AndroidAttestationTesting
import AppAttestTesting
import Crypto
import EventLoop

/// `sallyport-lab root`: makes a stand-in for Apple or Google, whose root a gateway under test may
/// trust.
enum RootCommand {
    private static let usage = """
        usage: sallyport-lab root --state FILE [--pem FILE] [--intermediate-pem FILE]
                                  [--receipt-root-pem FILE]
               sallyport-lab root --platform android --state FILE [--pem FILE]

          --state FILE             where the new roots and their private keys are kept
          --pem FILE               the root, for trust.extra_roots or trust.android.extra_roots
          --intermediate-pem FILE  the CA that signs the leaf certificates
          --receipt-root-pem FILE  the root of receipts, for trust.extra_roots too
          --platform               apple, which is the default, or android
        """

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words,
            names: ["--state", "--pem", "--intermediate-pem", "--receipt-root-pem", "--platform"],
            usage: usage)
        switch options.choice("--platform", or: LabPlatform.apple) {
        case .apple: try makeApple(options)
        case .android: try makeGoogle(options)
        }
    }

    private static func makeApple(_ options: LabOptions) throws {
        let apple = try SimulatedApple(around: WallClock.now().seconds)
        try LabFile.writeJSON(options.required("--state"), try apple.state())
        let certificates = [
            ("--pem", apple.root), ("--intermediate-pem", apple.intermediate),
            ("--receipt-root-pem", apple.receiptRoot),
        ]
        for (name, certificate) in certificates {
            if let path = options.value(name) { try LabFile.write(path, try certificate.pem()) }
        }
    }

    private static func makeGoogle(_ options: LabOptions) throws {
        for name in ["--intermediate-pem", "--receipt-root-pem"] where options.value(name) != nil {
            LabExit.usage("\(name): only for --platform apple\n\n\(usage)")
        }
        let google = try SimulatedGoogle(around: WallClock.now().seconds)
        try LabFile.writeJSON(options.required("--state"), try google.state())
        if let path = options.value("--pem") { try LabFile.write(path, google.rootPEM) }
    }
}
