import AppAttestTesting
import JSON

/// A simulated device of Apple's in a file, with the challenge of the last answer.
struct DeviceState: SavedDevice {
    private let path: String
    let device: SimulatedDevice
    var nextChallenge: String?

    init(path: String, device: SimulatedDevice) {
        self.path = path
        self.device = device
    }

    init(reading path: String) throws {
        let file = try LabFile.readJSON(path)
        guard let state = file["device"] else { throw LabError("\(path) holds no device") }
        self.path = path
        device = try SimulatedDevice(state: state)
        nextChallenge = file["next_challenge"]?.stringValue
    }

    /// Saves the state. It is saved after each signature, so that no counter is used twice.
    func save() throws {
        var members = ["device": try device.state()]
        if let nextChallenge { members["next_challenge"] = .string(nextChallenge) }
        try LabFile.writeJSON(path, .object(members))
    }

    func enrolment(_ options: LabOptions, _ client: DeviceClient) throws -> HTTPRequest {
        let apple = try LabFile.apple(options.required("--apple"))
        let challenge = try client.attestationChallenge(for: device.keyID)
        return try DeviceClient.enrolment(
            of: device, by: apple, challenge: challenge, base: client.base,
            fault: options.optionalChoice("--fault"))
    }

    func signing(
        _ request: HTTPRequest, challenge: String, _ options: LabOptions
    ) throws -> HTTPRequest {
        try device.signing(
            request, challenge: challenge,
            shape: options.choice("--shape", or: RequestShape.header),
            keyIDPlace: options.choice("--key-id", or: KeyIDPlace.header),
            fault: options.optionalChoice("--fault"))
    }
}
