import AppAttestTesting
import Attestation
import JSON

/// A simulated device of Apple's in a file.
struct DeviceState: SavedDevice {
    static let platform = LabPlatform.apple

    private let path: String
    let device: SimulatedDevice
    var memory: DeviceMemory

    var keyID: KeyID { device.keyID }

    init(path: String, device: SimulatedDevice, memory: DeviceMemory = DeviceMemory()) {
        self.path = path
        self.device = device
        self.memory = memory
    }

    init(reading path: String) throws {
        let file = try LabFile.readJSON(path)
        guard let state = file["device"] else { throw LabError("\(path) holds no device") }
        self.path = path
        device = try SimulatedDevice(state: state)
        memory = DeviceMemory(reading: file)
    }

    /// Saves the state. It is saved after each signature, so that no counter is used twice.
    func save() throws { try LabFile.writeJSON(path, memory.file("device", try device.state())) }

    var facts: [(name: String, value: String)] {
        [
            ("app", device.appID), ("environment", device.environment.rawValue),
            ("system", device.system.rawValue), ("counter", "\(device.counter)"),
        ]
    }

    func reinstalled() throws -> any SavedDevice {
        let other = try SimulatedDevice(
            appID: device.appID, environment: device.environment, system: device.system,
            bundleVersion: device.bundleVersion, validationCategory: device.validationCategory)
        return DeviceState(path: path, device: other, memory: memory)
    }

    func enrolment(
        _ options: LabOptions, _ client: DeviceClient, authority: String
    ) throws -> HTTPRequest {
        let apple = try LabFile.apple(authority)
        let fault: AttestationFault? = options.optionalChoice("--fault")
        let challenge = try client.attestationChallenge(for: device.keyID)
        return try DeviceClient.enrolment(
            of: device, by: apple, challenge: challenge, base: client.base, ticket: memory.ticket,
            fault: fault)
    }

    func signing(
        _ request: HTTPRequest, challenge: String, _ names: RequestHeaderNames,
        _ options: LabOptions
    ) throws -> HTTPRequest {
        try device.signing(
            request, challenge: challenge,
            shape: options.choice("--shape", or: RequestShape.header),
            keyIDPlace: options.choice("--key-id", or: KeyIDPlace.header), names: names,
            fault: options.optionalChoice("--fault"))
    }
}
