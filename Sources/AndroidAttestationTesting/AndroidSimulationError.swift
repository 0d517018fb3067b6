public import Crypto

/// The reason why the simulator could not make an object.
public enum AndroidSimulationError: Error, Hashable, Sendable, CustomStringConvertible {
    case crypto(CryptoError)

    public var description: String {
        switch self {
        case .crypto(let error): "simulator: \(error)"
        }
    }

    /// Runs one step of OpenSSL.
    static func wrap<Value>(
        _ body: () throws(CryptoError) -> Value
    ) throws(AndroidSimulationError) -> Value {
        do throws(CryptoError) {
            return try body()
        } catch {
            throw .crypto(error)
        }
    }
}
