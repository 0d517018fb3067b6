import KeyStore

/// The number of keys in the registry, and the time of the count in seconds since 1970.
struct KeyTally {
    let counts: [KeyCount]
    let countedAt: Int64
}
