import AppAttestTesting
import Attestation
import JSON

/// A simulated device of any platform, which is kept in a file.
protocol SavedDevice {
    static var platform: LabPlatform { get }

    /// The file's other members.
    var memory: DeviceMemory { get set }
    var keyID: KeyID { get }

    /// Lines for `device show` about the app and the device.
    var facts: [(name: String, value: String)] { get }

    func save() throws

    /// Returns the installation after a reinstall: with a new key, and what the file remembers.
    func reinstalled() throws -> any SavedDevice

    /// The request that enrols the device's key.
    func enrolment(
        _ options: LabOptions, _ client: DeviceClient, authority: String
    ) throws -> HTTPRequest

    /// The request with the device's proof.
    func signing(
        _ request: HTTPRequest, challenge: String, _ names: RequestHeaderNames,
        _ options: LabOptions
    ) throws -> HTTPRequest
}

/// The members of a device's file beside its key.
struct DeviceMemory {
    /// The challenge of the last answer.
    var nextChallenge: String?
    /// `HOST:PORT` of the gateway that took the key, with `https://` before it if it speaks TLS.
    var gateway: String?
    /// The file of the authorities that vouch for that gateway.
    var authoritiesPath: String?
    /// The names of its headers, as `--headers` takes them.
    var headers: String?
    /// That gateway's `endpoints.base`.
    var base: String?
    /// The file of the stand-in for Apple or Google that attested the key.
    var authority: String?
    /// The ticket of the installation, which the next enrolment brings.
    var ticket: String?

    private static var members: [(String, WritableKeyPath<DeviceMemory, String?>)] {
        [
            ("next_challenge", \.nextChallenge), ("gateway", \.gateway), ("base", \.base),
            ("ca", \.authoritiesPath), ("headers", \.headers),
            ("authority", \.authority), ("installation", \.ticket),
        ]
    }

    init() {}

    init(reading file: JSONValue) {
        for (name, path) in Self.members { self[keyPath: path] = file[name]?.stringValue }
    }

    /// The file's JSON, with the device as the member `name`.
    func file(_ name: String, _ state: JSONValue) -> JSONValue {
        var members = [name: state]
        for (name, path) in Self.members {
            members[name] = self[keyPath: path].map { .string($0) }
        }
        return .object(members)
    }
}
