import AndroidAttestation
import AndroidAttestationTesting
import AppAttestTesting
import Attestation
import Bytes
import JSON

/// A simulated phone in a file.
struct PhoneState: SavedDevice {
    static let platform = LabPlatform.android

    private let path: String
    let phone: SimulatedPhone
    var memory: DeviceMemory

    var keyID: KeyID { phone.keyID }

    init(path: String, phone: SimulatedPhone, memory: DeviceMemory = DeviceMemory()) {
        self.path = path
        self.phone = phone
        self.memory = memory
    }

    init(reading path: String) throws {
        let file = try LabFile.readJSON(path)
        guard let state = file["phone"] else { throw LabError("\(path) holds no phone") }
        self.path = path
        phone = try SimulatedPhone(state: state)
        memory = DeviceMemory(reading: file)
    }

    func save() throws { try LabFile.writeJSON(path, memory.file("phone", try phone.state())) }

    var facts: [(name: String, value: String)] {
        [
            ("app", phone.profile.packages.joined(separator: ",")),
            ("security level", phone.profile.securityLevel.name),
        ]
    }

    func reinstalled() throws -> any SavedDevice {
        PhoneState(path: path, phone: try SimulatedPhone(phone.profile), memory: memory)
    }

    /// The challenge is bound to no key, because a phone makes its key for a challenge that it has.
    func enrolment(
        _ options: LabOptions, _ client: DeviceClient, authority: String
    ) throws -> HTTPRequest {
        let google = try LabFile.google(authority)
        let fault: AndroidFault? = options.optionalChoice("--fault")
        return try DeviceClient.enrolment(
            of: phone, by: google, challenge: try client.attestationChallenge(for: nil),
            base: client.base, ticket: memory.ticket, fault: fault)
    }

    func signing(
        _ request: HTTPRequest, challenge: String, _ names: RequestHeaderNames,
        _ options: LabOptions
    ) throws -> HTTPRequest {
        try phone.signing(
            request, challenge: challenge,
            shape: options.choice("--shape", or: RequestShape.header),
            keyIDPlace: options.choice("--key-id", or: KeyIDPlace.header), names: names,
            fault: options.optionalChoice("--fault"))
    }
}

extension SimulatedPhone {
    /// Adds the proof to a request: the phone's signature over the client data's bytes.
    func signing(
        _ request: HTTPRequest, challenge: String, shape: RequestShape = .header,
        keyIDPlace: KeyIDPlace = .header, names: RequestHeaderNames = RequestHeaderNames(),
        fault: PhoneSignatureFault? = nil
    ) throws -> HTTPRequest {
        var request = request
        let clientData: [UInt8]
        switch shape {
        case .body: clientData = request.body
        case .header:
            clientData = SignedRequest.clientData(
                method: request.method, path: String(request.path), query: request.query,
                body: request.body, challenge: challenge,
                keyID: keyIDPlace == .clientData ? keyID : nil)
        }
        let signature =
            try fault.map { try sign(clientData: clientData, fault: $0) }
            ?? sign(clientData: clientData)
        request.fields.append((names.assertion, Base64.encode(signature)))
        if shape == .header {
            request.fields.append((names.clientData, Base64.encode(clientData)))
        }
        if keyIDPlace == .header { request.fields.append((names.keyID, keyID.base64)) }
        return request
    }
}
