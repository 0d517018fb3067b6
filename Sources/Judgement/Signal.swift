/// A property of a request that may be suspicious.
package enum Signal: Int, CaseIterable, Sendable {
    case userKeys
    case newUserKey
    case addressKeys
    case addressAttestations
    case keyConflicts
    /// The number of keys of devices with the first bit set; ``bit1Keys`` counts those with the
    /// second.
    case bit0Keys
    case bit1Keys
    /// The number of users of one key. This and the next signals are high if a device signs for
    /// others: users, addresses and networks, and counters that did not come to this gateway.
    case keyUsers
    case keyAddresses
    case keyNetworks
    case counterGaps
    /// The number of keys that were enrolled under one attestation certificate.
    case certificateKeys
    /// The number of enrolments with tickets of one installation.
    case installationSuccessions

    /// The signal of the bit with this index, 0 or 1.
    package static func keys(ofBit index: Int) -> Signal { index == 0 ? .bit0Keys : .bit1Keys }

    /// The signal's name in the configuration.
    package var name: StaticString {
        switch self {
        case .userKeys: "keys_per_user"
        case .newUserKey: "new_key_per_user"
        case .addressKeys: "keys_per_address"
        case .addressAttestations: "attestations_per_address"
        case .keyConflicts: "conflicts_per_key"
        case .bit0Keys, .bit1Keys: "keys_per_device_bit"
        case .keyUsers: "users_per_key"
        case .keyAddresses: "addresses_per_key"
        case .keyNetworks: "networks_per_key"
        case .counterGaps: "counter_gaps"
        case .certificateKeys: "keys_per_attestation_certificate"
        case .installationSuccessions: "successions_per_installation"
        }
    }
}
