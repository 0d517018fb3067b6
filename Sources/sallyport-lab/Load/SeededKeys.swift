import AppAttestTesting
import Attestation
import Bytes
import Crypto

/// Any number of keys from one word, so that the two ends of a measurement agree on a million keys
/// without a file of private keys.
struct SeededKeys {
    let seed: String

    /// Makes key `index`, whose secret number is SHA-256 of seed and index.
    func key(_ index: Int) throws -> P256PrivateKey {
        // The chance of a number outside the curve's order is 2^-32.
        let scalar = SHA256.hash(Array("\(seed)/\(index)".utf8))
        return try P256PrivateKey(scalar: scalar)
    }

    func device(_ index: Int, appID: String, counter: UInt32 = 0) throws -> SimulatedDevice {
        try SimulatedDevice(
            appID: appID, environment: .production, system: .iOS26, key: try key(index),
            counter: counter)
    }
}
