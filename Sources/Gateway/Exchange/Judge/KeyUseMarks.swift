/// What stands for a request's user, address and network, as far as they are counted.
struct KeyUseMarks {
    var user: UInt64?
    var address: UInt64?
    var network: UInt64?
}
