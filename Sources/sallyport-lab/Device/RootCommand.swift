import AppAttestTesting
import Crypto
import EventLoop

/// `sallyport-lab root`: makes a stand-in for Apple, whose root a gateway under test may trust.
enum RootCommand {
    private static let usage = """
        usage: sallyport-lab root --state FILE [--pem FILE] [--intermediate-pem FILE]
                                  [--receipt-root-pem FILE]

          --state FILE             where the new roots and their private keys are kept
          --pem FILE               the root, for trust.extra_roots
          --intermediate-pem FILE  the CA that signs the leaf certificates
          --receipt-root-pem FILE  the root of receipts, for trust.extra_roots too
        """

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words, names: ["--state", "--pem", "--intermediate-pem", "--receipt-root-pem"],
            usage: usage)
        let state = options.required("--state")
        let apple = try SimulatedApple(around: WallClock.now().seconds)
        try LabFile.writeJSON(state, try apple.state())
        let certificates = [
            ("--pem", apple.root), ("--intermediate-pem", apple.intermediate),
            ("--receipt-root-pem", apple.receiptRoot),
        ]
        for (name, certificate) in certificates {
            if let path = options.value(name) { try LabFile.write(path, try certificate.pem()) }
        }
    }
}
