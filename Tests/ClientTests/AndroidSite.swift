import Foundation
import GatewayTesting

/// A gateway with an Android app, and a stand-in for Google whose root it trusts.
struct AndroidSite {
    private static let package = "com.example.bank"
    private static let digest = String(repeating: "ab", count: 32)

    let site: ClientSite
    private let directory: ScratchDirectory
    private let google: String

    init(_ configure: (inout GatewayConfiguration) -> Void = { _ in }) throws {
        directory = try ScratchDirectory()
        google = directory.path(of: "google.json")
        let root = directory.path(of: "google.pem")
        let made = try ChildProcess.run(
            BuiltProgram.lab,
            ["root", "--platform", "android", "--state", google, "--pem", root])
        guard made.status == .exited(0) else { throw URLError(.cannotCreateFile) }
        site = try ClientSite {
            $0.androidRootPaths = [root]
            $0.apps = ["{ android: \(Self.package), signing_digests: [\(Self.digest)] }"]
            configure(&$0)
        }
    }

    /// What a program needs to make phones: the lab's command, a prefix for names of their files,
    /// the stand-in for Google, and the app.
    var phone: [String] {
        [BuiltProgram.lab, directory.path(of: "phone"), google, "\(Self.package)=\(Self.digest)"]
    }
}
