import AppAttest
import KeyStore

/// The receipts that changed while a page of them was being read: the page may tell of them as they
/// were before.
struct OutdatedReceipts {
    private var keys: Set<KeyID> = []
    private var isEverything = false

    /// Results of these keys have reached the registry.
    mutating func stored(_ stored: [KeyID]) { keys.formUnion(stored) }

    /// Others have changed something.
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
