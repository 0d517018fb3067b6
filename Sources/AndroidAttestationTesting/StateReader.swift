import Bytes
import Crypto
import JSON

/// Takes the members of a saved state.
struct StateReader {
    private let members: [String: JSONValue]

    init(_ state: JSONValue) { members = state.objectValue ?? [:] }

    func text(_ name: String) throws(AndroidSimulationError) -> String {
        guard let text = members[name]?.stringValue else { throw .state(name) }
        return text
    }

    func integer(_ name: String) throws(AndroidSimulationError) -> Int64 {
        guard let number = members[name]?.integerValue else { throw .state(name) }
        return number
    }

    func bool(_ name: String) throws(AndroidSimulationError) -> Bool {
        guard let flag = members[name]?.boolValue else { throw .state(name) }
        return flag
    }

    /// The elements of an array, each read by `read`, which gives nil for an unusable one.
    func list<Element>(
        _ name: String, _ read: (JSONValue) -> Element?
    ) throws(AndroidSimulationError) -> [Element] {
        guard let values = members[name]?.arrayValue else { throw .state(name) }
        let elements = values.compactMap(read)
        guard elements.count == values.count else { throw .state(name) }
        return elements
    }

    func choice<Choice: RawRepresentable<String>>(
        _ name: String
    ) throws(AndroidSimulationError) -> Choice {
        guard let choice = Choice(rawValue: try text(name)) else { throw .state(name) }
        return choice
    }

    func digest(_ name: String) throws(AndroidSimulationError) -> Bytes32 {
        guard let digest = Self.digest(try text(name)) else { throw .state(name) }
        return digest
    }

    static func digest(_ hex: String) -> Bytes32? { Hex.decode(hex).flatMap { Bytes32($0) } }

    func certificate(_ name: String) throws(AndroidSimulationError) -> Certificate {
        let pem = Array(try text(name).utf8)
        guard let certificate = try? Certificate.parsePEM(pem).first else { throw .state(name) }
        return certificate
    }

    func key(_ name: String) throws(AndroidSimulationError) -> ECPrivateKey {
        guard let key = Self.key(try text(name)) else { throw .state(name) }
        return key
    }

    static func key(_ pem: String) -> ECPrivateKey? { try? ECPrivateKey(pem: Array(pem.utf8)) }

    func p256Key(_ name: String) throws(AndroidSimulationError) -> P256PrivateKey {
        let pem = Array(try text(name).utf8)
        guard let key = try? P256PrivateKey(pem: pem) else { throw .state(name) }
        return key
    }

    /// A private key as it is saved.
    static func saved(_ key: ECPrivateKey) throws(AndroidSimulationError) -> JSONValue {
        let pem = try AndroidSimulationError.wrap { () throws(CryptoError) in try key.pem() }
        return .string(String(decoding: pem, as: UTF8.self))
    }
}
