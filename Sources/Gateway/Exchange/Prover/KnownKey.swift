import Attestation
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
