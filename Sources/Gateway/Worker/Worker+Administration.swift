import KeyStore

/// What operators' programs ask of the registry, which other threads do.
extension Worker {
    /// False if as many calls are under way as may be. Whatever becomes of the client, the event
    /// log has what was done.
    func administer(
        _ body: @escaping @Sendable () -> AdministrationAnswer, for exchange: Exchange
    ) -> Bool {
        let number = exchange.number
        let hasBegun = desk.run(body) { [unowned self] answer in
            if let event = answer.event { log.event(level: "info", "admin_api_change", event) }
            if let failure = answer.failure { log.repeatedEvent("admin_api_failed", failure) }
            waiting.take(number, for: nil)?.adminDesk.administrationEnded(answer)
        }
        if hasBegun { wait(exchange, for: .administration) }
        return hasBegun
    }

    /// Enters what was done elsewhere in the audit log, soon.
    func note(_ body: @escaping @Sendable () -> AdministrationAnswer) {
        let isTaken = desk.runLater(body) { [unowned self] answer in
            if let failure = answer.failure { log.repeatedEvent("admin_api_failed", failure) }
        }
        if !isTaken {
            log.repeatedEvent("admin_api_failed", "too many entries wait for the audit log")
        }
    }
}
