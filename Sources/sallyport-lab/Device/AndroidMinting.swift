import AndroidAttestationTesting
import Bytes
import EventLoop
import JSON

/// The objects of Android that `sallyport-lab mint` makes.
enum AndroidMinting {
    /// The certificates of a phone's key: a JSON array of base64, leaf first, or PEM.
    static func attestation(_ options: LabOptions) throws -> [UInt8] {
        let phone =
            try options.value("--device").map { try PhoneState(reading: $0).phone }
            ?? SimulatedPhone(PhoneOptions.profile(options))
        let chain = try phone.attestation(
            challenge: try challenge(options),
            by: try LabFile.google(options.required("--google")),
            at: Int64(options.count("--at", or: Int(WallClock.now().seconds))),
            fault: options.optionalChoice("--fault"))
        return options.has("--pem") ? pem(chain) : json(chain)
    }

    /// The bytes for `setAttestationChallenge`; those of the gateway's challenge if that is given.
    private static func challenge(_ options: LabOptions) throws -> [UInt8] {
        if let path = options.value("--challenge-file") { return try LabFile.read(path) }
        let token = Array(options.required("--challenge").utf8)
        return SimulatedPhone.attestationChallenge(of: token)
    }

    private static func json(_ chain: [[UInt8]]) -> [UInt8] {
        var writer = JSONWriter()
        writer.element(.array(chain.map { .string(Base64.encode($0)) }))
        writer.raw("\n")
        let buffer = writer.finish()
        return buffer.readable.array
    }

    /// Written here, because OpenSSL does not read every certificate that phones write.
    private static func pem(_ chain: [[UInt8]]) -> [UInt8] {
        let lineLength = 64
        var lines: [String] = []
        for certificate in chain {
            lines.append("-----BEGIN CERTIFICATE-----")
            var rest = Base64.encode(certificate)[...]
            while !rest.isEmpty {
                lines.append(String(rest.prefix(lineLength)))
                rest = rest.dropFirst(lineLength)
            }
            lines.append("-----END CERTIFICATE-----")
        }
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// A phone's signature over client data, in DER.
    static func signature(_ options: LabOptions) throws -> [UInt8] {
        let phone = try PhoneState(reading: options.required("--device")).phone
        let clientData = try LabFile.read(options.required("--client-data-file"))
        guard let fault: PhoneSignatureFault = options.optionalChoice("--fault") else {
            return try phone.sign(clientData: clientData)
        }
        return try phone.sign(clientData: clientData, fault: fault)
    }

    static func list() {
        print("android-attestation faults:")
        for fault in AndroidFault.allCases { print("  \(fault.rawValue)  \(fault.code)") }
        print("android-signature faults:")
        for fault in PhoneSignatureFault.allCases { print("  \(fault.rawValue)") }
        print("quirks of phones: \(PhoneQuirk.allCases.map(\.rawValue).joined(separator: " "))")
    }
}
