public import Bytes
import DER

/// The apps that own a key, as the phone's system states them.
///
/// Several packages can share one user id; then all of them are named. The system writes this, so
/// it is worth as much as the verified boot state.
public struct AttestationApplicationID: Hashable, Sendable {
    public struct Package: Hashable, Sendable {
        public let name: String
        public let version: Int64
    }

    /// The packages in the order of the attestation, at least one.
    public let packages: [Package]
    /// SHA-256 of each certificate that has signed them, at least one.
    public let signingDigests: [Bytes32]

    /// Parses the content of the OCTET STRING. Nil unless it is exactly one such element with at
    /// least one package and one digest.
    public init?(parsing content: Span<UInt8>) {
        var outer = DERReader(content)
        guard let sequence = outer.read(.sequence), outer.isAtEnd else { return nil }
        var sets = DERReader(sequence)
        guard let packageSet = sets.read(.set), let digestSet = sets.read(.set), sets.isAtEnd,
            !packageSet.isEmpty, !digestSet.isEmpty
        else { return nil }
        var packages: [Package] = []
        var packageReader = DERReader(packageSet)
        while !packageReader.isAtEnd {
            guard let content = packageReader.read(.sequence), let package = Self.package(content)
            else { return nil }
            packages.append(package)
        }
        var digests: [Bytes32] = []
        var digestReader = DERReader(digestSet)
        while !digestReader.isAtEnd {
            guard let content = digestReader.read(.octetString), let digest = Bytes32(content)
            else { return nil }
            digests.append(digest)
        }
        self.packages = packages
        signingDigests = digests
    }

    private static func package(_ content: Span<UInt8>) -> Package? {
        var fields = DERReader(content)
        guard let name = fields.read(.octetString), let text = try? UTF8Span(validating: name),
            let version = fields.readInteger(), fields.isAtEnd, !name.isEmpty
        else { return nil }
        return Package(name: String(copying: text), version: version)
    }
}
