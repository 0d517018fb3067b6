/// The reply that an exchange waits for: where it goes on when that comes.
enum Awaited {
    case nothing
    /// The record of the key that the proof is by.
    case key
    /// That record once more, with a floor that is not too old.
    case newerFloor
    /// The record of the key that the operator asks about.
    case inquiredKey
    /// The verdict of the worker's ``SignatureQueue``.
    case signature
    /// Whose key it is.
    case user
    case durableCounter
    case enrolment
    /// What Apple said of the device of a key, to be kept with it.
    case keptBits
    /// The counter store's, which keeps a time of its own.
    case counter
    /// The present incarnation of the counter store.
    case incarnation
    case tokenLookup
    case tokenSpending
    /// Apple's.
    case device
    /// What the admin API was asked for, which other threads do.
    case administration

    /// Whether what is awaited may be done though no answer comes.
    var isWrite: Bool {
        switch self {
        case .durableCounter, .enrolment, .keptBits: true
        case .nothing, .key, .newerFloor, .inquiredKey, .signature, .user, .counter, .incarnation,
            .tokenLookup, .tokenSpending, .device, .administration:
            false
        }
    }

    /// Whether the worker itself has it at the end of its loop's turn.
    var isOfThisTurn: Bool {
        if case .signature = self { true } else { false }
    }
}
