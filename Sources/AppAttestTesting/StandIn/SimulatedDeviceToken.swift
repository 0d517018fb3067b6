import AppAttest
public import Attestation
import Bytes
import Crypto
import JSON

/// A device token that a simulated device sends: sealed, so that its maker can recognise it without
/// having kept it.
public struct SimulatedDeviceToken: Hashable, Sendable {
    /// The name that a test gives the device.
    public var device: String
    public var teamID: String
    public var environment: AttestEnvironment
    /// The number that tells the tokens of a device apart.
    public var number: UInt64

    private static let sealByteCount = 32

    public init(
        device: String, teamID: String, environment: AttestEnvironment, number: UInt64? = nil
    ) {
        self.device = device
        self.teamID = teamID
        self.environment = environment
        self.number = number ?? RandomBytes.word()
    }

    /// The token in base64, as the device's app sends it.
    public func text(secret: [UInt8]) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("device", string: device)
        writer.member("team", string: teamID)
        writer.member("environment", string: environment.rawValue)
        writer.member("number", string: String(number, radix: 16))
        writer.endObject()
        let buffer = writer.finish()
        let content = buffer.readable.array
        return Base64.encode(content + Self.seal(content, secret))
    }

    /// Parses a token. Nil if it was not made with `secret`.
    init?(text: String, secret: [UInt8]) {
        guard let bytes = Base64.decode(text), bytes.count > Self.sealByteCount else { return nil }
        let content = Array(bytes.dropLast(Self.sealByteCount))
        guard Self.seal(content, secret) == Array(bytes.suffix(Self.sealByteCount)),
            let value = try? JSONValue.parse(content.span, byteCountMax: 4096),
            let device = value["device"]?.stringValue, let team = value["team"]?.stringValue,
            let environment = value["environment"]?.stringValue
                .flatMap(AttestEnvironment.init(rawValue:)),
            let number = value["number"]?.stringValue.flatMap({ UInt64($0, radix: 16) })
        else { return nil }
        self.init(device: device, teamID: team, environment: environment, number: number)
    }

    private static func seal(_ content: [UInt8], _ secret: [UInt8]) -> [UInt8] {
        HMACSHA256.authenticate(content.span, key: HMACKey(secret)).array
    }
}
