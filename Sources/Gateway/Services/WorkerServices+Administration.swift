import KeyStore

/// Calls of operators' programs on the registry, which other threads carry out.
extension WorkerServices {
    /// Has a call carried out. False if too many calls are under way. The event log has the result
    /// even if the client leaves.
    func administer(
        _ body: @escaping @Sendable () -> AdministrationAnswer, for request: any WaitingRequest
    ) -> Bool {
        let number = request.number
        let hasBegun = desk.run(body) { [unowned self] answer in
            if let event = answer.event { log.event(level: "info", "admin_api_change", event) }
            if let failure = answer.failure { log.repeatedEvent("admin_api_failed", failure) }
            waiting.take(number, for: nil)?.administrationEnded(answer)
        }
        if hasBegun { waiting.wait(request, for: .administration) }
        return hasBegun
    }

    /// Enters an action that was done elsewhere in the audit log, soon.
    func note(_ body: @escaping @Sendable () -> AdministrationAnswer) {
        let isTaken = desk.runLater(body) { [unowned self] answer in
            if let failure = answer.failure { log.repeatedEvent("admin_api_failed", failure) }
        }
        if !isTaken {
            log.repeatedEvent("admin_api_failed", "too many entries wait for the audit log")
        }
    }
}
