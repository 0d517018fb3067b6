import KeyStore

extension RegistryAdministration {
    /// Names the servers that could not be asked, before the change, which may take long or fail.
    func warn(ofChange isChange: Bool) {
        guard !unaskedServers.isEmpty else { return }
        for server in unaskedServers { Console.complain("sallyport: registry: \(server)") }
        Console.complain(
            isChange
                ? "sallyport: registry: the change is made at the newest primary that answers, and"
                    + " may be lost: repeat it when all named servers answer (exit code 3)"
                : "sallyport: registry: what is shown comes from the newest primary that answers,"
                    + " and may be old")
    }

    /// Ends the process after a change that may be lost.
    func exitIfUnconfirmed() {
        if !unaskedServers.isEmpty { Exit.with(.unconfirmed) }
    }
}
