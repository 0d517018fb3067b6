import AppleServices
import Attestation
import Background
import Bytes
import JSON
import KeyStore
import Settings

/// The requests for DeviceCheck that operators' own services make on the admin listener.
enum DeviceAction {
    case query
    case update
    case validate

    init?(path: Span<UInt8>) {
        switch String(decoding: path.array, as: UTF8.self) {
        case "/device-check/query": self = .query
        case "/device-check/update": self = .update
        case "/device-check/validate": self = .validate
        default: return nil
        }
    }
}

/// A service's request for DeviceCheck, and how far the gateway has come with it.
struct DeviceInquiry {
    let action: DeviceAction
    /// The parsed body; nil until it was read.
    var order: DeviceOrder?
    /// Apple's reply, held while the registry stores it; nil until then.
    var reply: DeviceReply?
}

/// The parsed body of a request for DeviceCheck.
struct DeviceOrder {
    struct Fault: Error {
        let text: String
    }

    let token: String
    let kind: DeviceQuestion.Kind
    /// The key whose record keeps Apple's reply; nil if none does.
    let keyID: KeyID?

    init(
        _ body: JSONValue?, of action: DeviceAction, _ settings: DeviceCheckSettings
    ) throws(Fault) {
        guard let members = body?.objectValue else {
            throw Fault(text: "the body is not one JSON object")
        }
        let known: Set = ["device_token", "environment", "bits", "key_id"]
        guard let bytes = members["device_token"]?.stringValue.flatMap({ Base64.decode($0) }),
            !bytes.isEmpty
        else { throw Fault(text: "device_token is not base64") }
        token = Base64.encode(bytes)
        var environment = settings.environments[0]
        if let member = members["environment"] {
            guard let found = member.stringValue.flatMap(AttestEnvironment.init(rawValue:)) else {
                throw Fault(text: "environment is neither production nor development")
            }
            environment = found
        }
        guard Set(members.keys).isSubset(of: known), action == .update || members["bits"] == nil,
            action != .validate || members["key_id"] == nil
        else { throw Fault(text: "a member that this request does not take") }
        keyID = try members["key_id"].map { member throws(Fault) in
            guard let keyID = member.stringValue.flatMap({ KeyID(base64: $0) }) else {
                throw Fault(text: "key_id is not base64 of 32 bytes")
            }
            return keyID
        }
        switch action {
        case .query: kind = .ask(.query, environment)
        case .validate: kind = .ask(.validate, environment)
        case .update:
            let bits = try Self.bits(members["bits"], settings)
            kind = .change(bit0: bits[0], bit1: bits[1], environment)
        }
    }

    /// The new value of each bit; nil for a bit that the request does not name.
    private static func bits(
        _ value: JSONValue?, _ settings: DeviceCheckSettings
    ) throws(Fault) -> [Bool?] {
        guard let members = value?.objectValue, !members.isEmpty else {
            throw Fault(text: "bits is not an object that names at least one bit")
        }
        var bits: [Bool?] = [nil, nil]
        for (name, member) in members {
            guard let index = DeviceCheckSettings.bit(named: name, in: settings.bitNames) else {
                throw Fault(
                    text: "no bit has that name; known: "
                        + settings.bitNames.joined(separator: ", "))
            }
            guard let flag = member.boolValue else {
                throw Fault(text: "a bit is neither true nor false")
            }
            guard bits[index] == nil else { throw Fault(text: "a bit is named twice") }
            bits[index] = flag
        }
        return bits
    }
}
