package import Bytes
package import Crypto
package import JSON

/// Takes the members of a saved state.
package struct StateReader {
    private let members: [String: JSONValue]

    package init(_ state: JSONValue) { members = state.objectValue ?? [:] }

    package func text(_ name: String) throws(SimulationError) -> String {
        guard let text = members[name]?.stringValue else { throw .state(name) }
        return text
    }

    package func integer(_ name: String) throws(SimulationError) -> Int64 {
        guard let number = members[name]?.integerValue else { throw .state(name) }
        return number
    }

    package func bool(_ name: String) throws(SimulationError) -> Bool {
        guard let flag = members[name]?.boolValue else { throw .state(name) }
        return flag
    }

    /// The elements of an array, each read by `read`, which gives nil for an unusable one.
    package func list<Element>(
        _ name: String, _ read: (JSONValue) -> Element?
    ) throws(SimulationError) -> [Element] {
        guard let values = members[name]?.arrayValue else { throw .state(name) }
        let elements = values.compactMap(read)
        guard elements.count == values.count else { throw .state(name) }
        return elements
    }

    package func choice<Choice: RawRepresentable<String>>(
        _ name: String
    ) throws(SimulationError) -> Choice {
        guard let choice = Choice(rawValue: try text(name)) else { throw .state(name) }
        return choice
    }

    package func digest(_ name: String) throws(SimulationError) -> Bytes32 {
        guard let digest = Self.digest(try text(name)) else { throw .state(name) }
        return digest
    }

    package static func digest(_ hex: String) -> Bytes32? {
        Hex.decode(hex).flatMap { Bytes32($0) }
    }

    package func certificate(_ name: String) throws(SimulationError) -> Certificate {
        let pem = Array(try text(name).utf8)
        guard let certificate = try? Certificate.parsePEM(pem).first else { throw .state(name) }
        return certificate
    }

    package func key(_ name: String) throws(SimulationError) -> ECPrivateKey {
        guard let key = Self.key(try text(name)) else { throw .state(name) }
        return key
    }

    package static func key(_ pem: String) -> ECPrivateKey? {
        try? ECPrivateKey(pem: Array(pem.utf8))
    }

    package func p256Key(_ name: String) throws(SimulationError) -> P256PrivateKey {
        let pem = Array(try text(name).utf8)
        guard let key = try? P256PrivateKey(pem: pem) else { throw .state(name) }
        return key
    }

    /// A private key as it is saved.
    package static func saved(_ key: ECPrivateKey) throws(SimulationError) -> JSONValue {
        try saved { () throws(CryptoError) in try key.pem() }
    }

    /// A certificate as it is saved.
    package static func saved(_ certificate: Certificate) throws(SimulationError) -> JSONValue {
        try saved { () throws(CryptoError) in try certificate.pem() }
    }

    private static func saved(
        _ pem: () throws(CryptoError) -> [UInt8]
    ) throws(SimulationError) -> JSONValue {
        .string(String(decoding: try SimulationError.wrap(pem), as: UTF8.self))
    }
}
