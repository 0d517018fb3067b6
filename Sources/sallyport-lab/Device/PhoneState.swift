import AndroidAttestationTesting
import AppAttestTesting
import Attestation
import Bytes
import JSON

/// A simulated phone in a file, with the challenge of the last answer.
struct PhoneState: SavedDevice {
    private let path: String
    let phone: SimulatedPhone
    var nextChallenge: String?

    init(path: String, phone: SimulatedPhone) {
        self.path = path
        self.phone = phone
    }

    init(reading path: String) throws {
        let file = try LabFile.readJSON(path)
        guard let state = file["phone"] else { throw LabError("\(path) holds no phone") }
        self.path = path
        phone = try SimulatedPhone(state: state)
        nextChallenge = file["next_challenge"]?.stringValue
    }

    func save() throws {
        var members = ["phone": try phone.state()]
        if let nextChallenge { members["next_challenge"] = .string(nextChallenge) }
        try LabFile.writeJSON(path, .object(members))
    }

    /// The challenge is bound to no key, because a phone makes its key for a challenge that it has.
    func enrolment(_ options: LabOptions, _ client: DeviceClient) throws -> HTTPRequest {
        try DeviceClient.enrolment(
            of: phone, by: try LabFile.google(options.required("--google")),
            challenge: try client.attestationChallenge(for: nil), base: client.base,
            fault: options.optionalChoice("--fault"))
    }

    func signing(
        _ request: HTTPRequest, challenge: String, _ options: LabOptions
    ) throws -> HTTPRequest {
        try phone.signing(
            request, challenge: challenge,
            shape: options.choice("--shape", or: RequestShape.header),
            keyIDPlace: options.choice("--key-id", or: KeyIDPlace.header),
            fault: options.optionalChoice("--fault"))
    }
}

extension SimulatedPhone {
    /// Adds the proof to a request: the phone's signature over the client data's bytes.
    func signing(
        _ request: HTTPRequest, challenge: String, shape: RequestShape = .header,
        keyIDPlace: KeyIDPlace = .header, fault: PhoneSignatureFault? = nil
    ) throws -> HTTPRequest {
        let names = RequestHeaderNames()
        var request = request
        let clientData: [UInt8]
        switch shape {
        case .body: clientData = request.body
        case .header:
            clientData = SignedRequest.clientData(
                method: request.method, path: String(request.path), body: request.body,
                challenge: challenge, keyID: keyIDPlace == .clientData ? keyID : nil)
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
