import AppAttest
import KeyStore
import Settings

/// What the registry, or the worker's memory of it, has said about the key of a request.
struct KnownKey {
    var key: CachedKey?
    /// The configured app that the key was enrolled for.
    var app: AppIdentity?
    /// How new the floor in ``key`` is: it holds what the news of floors said up to this number.
    var floorNewsNumber: UInt64 = 0
}
