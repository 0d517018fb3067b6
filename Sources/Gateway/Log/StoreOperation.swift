/// The operations of stores for which exchanges wait: a label of metrics.
enum StoreOperation: Int, CaseIterable {
    case find
    case findUser
    case advanceDurably
    case enrol
    case keepBits
    case advance
    case findToken
    case spendToken

    /// Nil for a wait that no store ends.
    init?(_ awaited: Awaited) {
        switch awaited {
        case .nothing, .signature, .incarnation, .device, .administration: return nil
        case .key, .newerFloor, .inquiredKey: self = .find
        case .user: self = .findUser
        case .durableCounter: self = .advanceDurably
        case .enrolment: self = .enrol
        case .keptBits: self = .keepBits
        case .counter: self = .advance
        case .tokenLookup: self = .findToken
        case .tokenSpending: self = .spendToken
        }
    }

    var store: String {
        switch self {
        case .find, .findUser, .advanceDurably, .enrol, .keepBits: "registry"
        case .advance, .findToken, .spendToken: "counters"
        }
    }

    var name: String {
        switch self {
        case .find: "find_key"
        case .findUser: "find_user"
        case .advanceDurably, .advance: "advance_counter"
        case .enrol: "enrol"
        case .keepBits: "keep_device_bits"
        case .findToken: "find_token"
        case .spendToken: "spend_token"
        }
    }
}
