import Policy

extension Exchange {
    /// The registry has had its time (`timeouts.registry`), and what it may yet answer is for
    /// nobody.
    ///
    /// A look-up has changed nothing. A write may still be done: as with a lost reply of the
    /// counter store its outcome is unknown, so the app signs (or attests) again.
    func registryTimedOut() {
        worker.log.event("registry_failed", "registry: no answer within timeouts.registry")
        if isUserAwaited { return userWasLookedUp() }
        if inquiry != nil { return registryFailed() }
        let isWrite = endpoint != nil || phase == .advanceCounter
        let refusal = Refusal(
            .storeUnavailable, detail: isWrite ? "registry_unknown" : "registry_timeout")
        do throws(Refusal) {
            guard endpoint == nil else { throw refusal }
            try refuseOrObserve(refusal)
            phase = .rewriteHeaders
            resume()
        } catch {
            refuse(error)
        }
    }
}
