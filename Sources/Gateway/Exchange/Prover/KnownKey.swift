import Attestation
import Judgement
import KeyStore
import Settings

/// The record of a request's key, from the registry or from the worker's cache.
struct KnownKey {
    var key: CachedKey?
    /// The configured app that the key was enrolled for.
    var app: AppIdentity?
    /// The number of the last news about floors that the floor in ``key`` contains.
    var floorNewsNumber: UInt64 = 0
}

extension Prover {
    /// The installation of the proof's key. Without the key's record, a token's own facts count.
    func installation(of keyID: KeyID) -> InstallationID {
        if case .some = state.known.key {
            return state.known.key?.succession?.installation ?? InstallationID(firstKey: keyID)
        }
        return state.proofFacts.installation ?? InstallationID(firstKey: keyID)
    }

    /// Has the predecessor of the key revoked, if that is still to be done.
    func retirePredecessor() {
        guard let predecessor = state.known.key?.succession?.retires,
            let keyID = exchange.provenKeyID
        else { return }
        services.retire(
            KeyRetirement(predecessor: predecessor, successor: keyID),
            requestID: exchange.requestIDText)
    }
}
