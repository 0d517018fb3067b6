import Attestation
import EventLoop
import KeyStore

/// Retires keys whose successors have signed. No request waits for it.
extension WorkerServices {
    /// Has the registry revoke the predecessor of a key that has signed, if it is not being asked
    /// to. If it fails, or this process ends before, the key's next request asks again.
    func retire(_ retirement: KeyRetirement, requestID: String) {
        guard changes.begin(retirement, at: loop.now) else { return }
        let mailbox = mailbox
        registry.retire(retirement, by: KeyRetirement.author(requestID: requestID)) { result in
            _ = mailbox.post(.keyRetired(retirement, result))
        }
    }

    func keyWasRetired(_ retirement: KeyRetirement, _ result: Result<Bool, StoreError>) {
        changes.end(retirement)
        switch result {
        case .success:
            // The cached record says that the predecessor is still to be retired.
            keyCache.invalidate([retirement.successor, retirement.predecessor])
        case .failure(let error): log.repeatedEvent("registry_failed", error.description)
        }
    }
}
