import AppAttestTesting
import JSON

/// A simulated device in a file, with the challenge of the last answer.
struct DeviceState {
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
}
