import KeyStore

/// How many keys the registry held, and when: seconds since 1970.
struct KeyTally {
    let counts: [KeyCount]
    let countedAt: Int64
}
