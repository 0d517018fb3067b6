public import Crypto

/// The reason why the simulator could not make an object.
public enum SimulationError: Error, Hashable, Sendable, CustomStringConvertible {
    case crypto(CryptoError)
    /// A saved state lacks this member, or it has another form.
    case state(String)

    public var description: String {
        switch self {
        case .crypto(let error): "simulator: \(error)"
        case .state(let member): "simulator: member \(member) of the saved state is unusable"
        }
    }

    /// Runs one step of OpenSSL.
    package static func wrap<Value>(
        _ body: () throws(CryptoError) -> Value
    ) throws(SimulationError) -> Value {
        do throws(CryptoError) {
            return try body()
        } catch {
            throw .crypto(error)
        }
    }
}
