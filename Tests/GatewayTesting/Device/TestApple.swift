public import AppAttestTesting
import Crypto
import Foundation

/// One stand-in for Apple for all tests of a process, whose root gateways under test trust.
public enum TestApple {
    public static let shared: SimulatedApple = {
        do {
            return try SimulatedApple(around: Int64(Date().timeIntervalSince1970))
        } catch {
            preconditionFailure("no simulated Apple: \(error)")
        }
    }()

    private static let directory = try? ScratchDirectory()

    /// A PEM file with the root, for `trust.extra_roots`.
    public static let rootPath: String = {
        guard let pem = try? shared.root.pem(),
            let path = try? directory?.write(pem, to: "root.pem")
        else { preconditionFailure("the simulated Apple's root cannot be written") }
        return path
    }()
}
