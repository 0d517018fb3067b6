/// The reason why a KeyDescription was not read. It holds no value of the description.
public enum KeyDescriptionMalformation: Error, Hashable, Sendable, CustomStringConvertible {
    /// This part is missing, of another type, or not in DER.
    case part(String)
    /// The authorization with this tag is malformed.
    case authorization(tag: UInt32)
    /// The authorization with this tag occurs twice in one list.
    case duplicate(tag: UInt32)
    /// The tags of a list do not ascend. Keystores write them in order, forgers' tools often do
    /// not.
    case tagOrder
    /// There are bytes behind the description, or elements behind its last one.
    case trailingBytes

    public var description: String {
        switch self {
        case .part(let name): "\(name) is malformed"
        case .authorization(let tag): "the authorization [\(tag)] is malformed"
        case .duplicate(let tag): "the authorization [\(tag)] occurs twice"
        case .tagOrder: "the tags of an authorization list do not ascend"
        case .trailingBytes: "there are bytes behind it"
        }
    }
}
