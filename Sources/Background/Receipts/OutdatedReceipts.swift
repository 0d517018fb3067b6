import Attestation
import KeyStore

/// The receipts that changed while a page of them was being read, so that the page may hold their
/// earlier state.
struct OutdatedReceipts {
    private var keys: Set<KeyID> = []
    private var isEverything = false

    /// The results of these keys have reached the registry.
    mutating func stored(_ stored: [KeyID]) { keys.formUnion(stored) }

    /// Other processes have changed keys.
    mutating func changed(_ change: RegistryChange) {
        switch change {
        case .keys(let changed): keys.formUnion(changed)
        case .everything, .replaced: isEverything = true
        }
    }

    /// The receipts of the page that have not changed since it was read.
    func removed(from found: [DueReceipt]) -> [DueReceipt] {
        isEverything ? [] : found.filter { !keys.contains($0.keyID) }
    }
}
