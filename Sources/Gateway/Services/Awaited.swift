/// The reply that a request waits for. It decides where the request goes on when the reply comes.
enum Awaited {
    case nothing
    /// The registry's record of the proof's key.
    case key
    /// The record of that key, looked up again because its counter floor was too old.
    case newerFloor
    /// The record of the key that an operator asks about.
    case inquiredKey
    /// The record of the key that an enrolment with an old challenge may have enrolled before.
    case enrolledKey
    /// The verdict of the worker's ``SignatureQueue``.
    case signature
    /// The registry's record of the key's user.
    case user
    case durableCounter
    case enrolment
    /// The registry's confirmation that it keeps the device bits which Apple reported for a key.
    case keptBits
    /// The counter store's verdict. That store has a time-out of its own.
    case counter
    /// The counter store's current incarnation.
    case incarnation
    /// The counter store's verdict on a charge to a quota.
    case quota
    case tokenLookup
    case tokenSpending
    /// Apple's verdict on a DeviceCheck token.
    case device
    /// The result of an admin API call, which another thread carries out.
    case administration

    /// True if the store may carry out the request even though its reply never comes.
    var isWrite: Bool {
        switch self {
        case .durableCounter, .enrolment, .keptBits: true
        case .nothing, .key, .newerFloor, .inquiredKey, .enrolledKey, .signature, .user, .counter,
            .incarnation, .quota, .tokenLookup, .tokenSpending, .device, .administration:
            false
        }
    }

    /// True if the worker itself has the reply at the end of the loop's current turn.
    var isOfThisTurn: Bool {
        if case .signature = self { true } else { false }
    }

    /// The store's operation that ends the wait; nil for a wait that no store ends.
    var operation: StoreOperation? {
        switch self {
        case .nothing, .signature, .incarnation, .device, .administration: nil
        case .key, .newerFloor, .inquiredKey, .enrolledKey: .find
        case .user: .findUser
        case .durableCounter: .advanceDurably
        case .enrolment: .enrol
        case .keptBits: .keepBits
        case .counter: .advance
        case .quota: .charge
        case .tokenLookup: .findToken
        case .tokenSpending: .spendToken
        }
    }
}
