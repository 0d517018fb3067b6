/// Hashes of a request's user, address and network; nil for each that is not counted.
struct KeyUseMarks {
    var user: UInt64?
    var address: UInt64?
    var network: UInt64?
}
