/// The operations of stores for which requests wait: a label of metrics.
enum StoreOperation: Int, CaseIterable {
    case find
    case findUser
    case advanceDurably
    case enrol
    case keepBits
    case advance
    case charge
    case findToken
    case spendToken

    var store: String {
        switch self {
        case .find, .findUser, .advanceDurably, .enrol, .keepBits: "registry"
        case .advance, .charge, .findToken, .spendToken: "counters"
        }
    }

    var name: String {
        switch self {
        case .find: "find_key"
        case .findUser: "find_user"
        case .advanceDurably, .advance: "advance_counter"
        case .charge: "charge_quota"
        case .enrol: "enrol"
        case .keepBits: "keep_device_bits"
        case .findToken: "find_token"
        case .spendToken: "spend_token"
        }
    }
}
