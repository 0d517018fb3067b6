import Administration
import Attestation
import Background
import Bytes
import HTTP
import JSON
import KeyStore
import Settings

/// Carries out one call of the admin API. Blocks.
struct AdministrationJob: Sendable {
    let call: AdministrationCall
    let author: AuditAuthor
    let site: Site
    let access: AdministrationAccess
    /// The counters that this gateway has accepted and that the registry may not have yet.
    let floors: FloorTable
    let charges: BlockingCharges
    /// The time of the call, in milliseconds since 1970-01-01T00:00:00Z.
    let wallMilliseconds: Int64

    func run() -> AdministrationAnswer {
        do {
            return try answer()
        } catch {
            var answer = problem(503, "store_unavailable", "the registry failed: \(error)")
            answer.failure = "\(error)"
            return answer
        }
    }

    /// Opens the registry for the author of the call.
    func open() throws -> any RegistryAdministration {
        let registry = try access.open(site.settings)
        registry.author = author
        return registry
    }

    private func answer() throws -> AdministrationAnswer {
        switch call {
        case .list(let filter, let pseudonym): return try list(filter, pseudonym, open())
        case .show(let keyID): return try show(keyID, open())
        case .export(let filter): return try export(filter, open())
        case .revoke(let keyIDs):
            let registry = try open()
            return try change(keyIDs, .revokeKey, "revoked", registry, registry.revoke)
        case .erase(let keyIDs):
            let registry = try open()
            return try change(keyIDs, .eraseKey, "erased", registry, registry.erase)
        case .rollouts: return try rollouts(open())
        case .audit(let filter): return try audit(filter, open())
        case .note(let note): return try self.note(note, open())
        case .quotas: return quotas()
        // Without a key, a count is shown without the registry.
        case .quota(let order): return try quota(order)
        }
    }

    // MARK: reading

    private func list(
        _ filter: KeyFilter, _ pseudonym: Pseudonym?, _ registry: any RegistryAdministration
    ) throws -> AdministrationAnswer {
        let page =
            try pseudonym.map { try find($0, filter, registry) }
            ?? self.page(filter, withReceipts: false, registry)
        return json { writer in
            writer.beginArray("keys")
            for record in page {
                KeyLine.write(record, bitNames: site.settings.deviceBitNames, to: &writer)
            }
            writer.endArray()
            // A page that is not full is the last one.
            guard pseudonym == nil, page.count == filter.countMax, let last = page.last else {
                return
            }
            writer.member("next", string: last.keyID.base64)
        }
    }

    /// Tries every key that the filter selects, because a pseudonym does not lead back to its key.
    private func find(
        _ pseudonym: Pseudonym, _ filter: KeyFilter, _ registry: any RegistryAdministration
    ) throws -> [KeyRecord] {
        var filter = filter
        filter.countMax = 10_000
        var found: [KeyRecord] = []
        while true {
            let page = try self.page(filter, withReceipts: false, registry)
            found += page.filter { site.pseudonyms.isPseudonym(pseudonym, of: $0.keyID) }
            guard let last = page.last else { break }
            filter.after = last.keyID
        }
        for record in found {
            try registry.append(
                AuditNote(
                    .identifyKey, record.keyID.base64, outcome: "done",
                    detail: "by pseudonym \(pseudonym)"))
        }
        return found
    }

    private func page(
        _ filter: KeyFilter, withReceipts: Bool, _ registry: any RegistryAdministration
    ) throws -> [KeyRecord] {
        try withAccepted { try registry.list(filter, withReceipts: withReceipts) }
    }

    /// The records that `read` finds, with the highest counters that this gateway has accepted.
    private func withAccepted(_ read: () throws -> [KeyRecord]) rethrows -> [KeyRecord] {
        var records: [KeyRecord] = []
        for _ in 0..<3 {
            let number = floors.newsNumber
            records = try read().map { $0.raised(to: floors.highest(of: $0.keyID)) }
            // Otherwise a counter may have left the table for the registry just after the record
            // was read.
            if floors.newsNumber == number { break }
        }
        return records
    }

    private func show(
        _ keyID: KeyID, _ registry: any RegistryAdministration
    ) throws -> AdministrationAnswer {
        let found = try withAccepted { try registry.find(keyID).map { [$0] } ?? [] }
        guard let record = found.first else {
            return problem(404, "key_unknown", "no key has this id")
        }
        let text = KeyLine.text(
            record, users: try registry.users(of: keyID), bitNames: site.settings.deviceBitNames)
        return AdministrationAnswer(status: 200, body: Array((text + "\n").utf8))
    }

    private func export(
        _ filter: KeyFilter, _ registry: any RegistryAdministration
    ) throws -> AdministrationAnswer {
        let page = try page(filter, withReceipts: true, registry)
        var body: [UInt8] = []
        for record in page { body += (KeyLine.text(record) + "\n").utf8 }
        var answer = AdministrationAnswer(
            status: 200, contentType: "application/jsonl", body: body)
        if page.count == filter.countMax, let last = page.last {
            answer.link = link(after: last.keyID, filter)
        }
        return answer
    }

    /// The next page, by the same filters.
    private func link(after keyID: KeyID, _ filter: KeyFilter) -> String {
        var query = "after=\(Base64.encodeURL(keyID.digest.array))&limit=\(filter.countMax)"
        // An app ID has only letters, digits, periods and hyphens.
        if let app = filter.appID { query += "&app=\(app)" }
        if let environment = filter.environment { query += "&environment=\(environment.rawValue)" }
        if let status = filter.status { query += "&status=\(status.rawValue)" }
        return "</keys/export?\(query)>; rel=\"next\""
    }

    private func rollouts(
        _ registry: any RegistryAdministration
    ) throws -> AdministrationAnswer {
        let rollouts = try site.settings.plannedRollouts.map { rollout in
            (rollout, try RolloutLine.state(registry.readShared(rollout.entryName), rollout))
        }
        return json { writer in
            writer.beginArray("rollouts")
            for (rollout, state) in rollouts {
                writer.beginObject()
                RolloutLine.write(rollout, state, to: &writer)
                writer.endObject()
            }
            writer.endArray()
        }
    }

    private func audit(
        _ filter: AuditFilter, _ registry: any RegistryAdministration
    ) throws -> AdministrationAnswer {
        let entries = try registry.audit(filter)
        return json { writer in
            writer.beginArray("entries")
            for entry in entries {
                writer.beginObject()
                AuditLine.write(entry, to: &writer)
                writer.endObject()
            }
            writer.endArray()
            guard entries.count == filter.countMax, let last = entries.last else { return }
            writer.member("next", int: last.number)
        }
    }

    private func note(
        _ note: AuditNote, _ registry: any RegistryAdministration
    ) throws -> AdministrationAnswer {
        try registry.append(note)
        return json { _ in }
    }

    // MARK: changing

    /// Changes the registry first, which lasts, then the counter store that gateways share.
    private func change(
        _ keyIDs: [KeyID], _ action: AuditAction, _ done: String,
        _ registry: any RegistryAdministration,
        _ body: ([KeyID]) throws(StoreError) -> [AdministrationOutcome]
    ) throws -> AdministrationAnswer {
        let outcomes = try body(keyIDs)
        let event = event(action, keyIDs, outcomes)
        func failed(_ code: String, _ text: String, _ error: any Error) -> AdministrationAnswer {
            var answer = problem(
                503, code,
                "the registry has the change, and gateways follow it, but \(text): send the "
                    + "request again")
            answer.event = event
            answer.failure = "\(error)"
            return answer
        }
        do {
            try access.markRevoked(keyIDs, site.settings)
        } catch {
            return failed("counters_unavailable", "the counter store did not take it", error)
        }
        guard outcomes.contains(where: { $0 != .unknownKey }) else {
            var answer = problem(404, "key_unknown", "no key has any of these ids")
            answer.event = event
            return answer
        }
        let newer: [KeyID: NewerKey]
        do throws(StoreError) {
            newer = action == .revokeKey ? try registry.newerKeys(than: keyIDs) : [:]
        } catch {
            return failed("store_unavailable", "it failed when asked for newer keys", error)
        }
        var answer = json { writer in
            writer.beginArray("keys")
            for (keyID, outcome) in zip(keyIDs, outcomes) {
                writer.beginObject()
                writer.member("key_id", string: keyID.base64)
                writer.member("outcome", string: outcome == .done ? done : outcome.word)
                if let newer = newer[keyID] { SuccessionText.write(newer, to: &writer) }
                writer.endObject()
            }
            writer.endArray()
            writeConfirmation(by: registry, to: &writer)
        }
        // The change was made but may be lost, so it has to be sent again.
        answer.status = changeStatus(by: registry)
        answer.event = event
        return answer
    }

    /// Writes whether what was written to the registry lasts, and otherwise the servers that did
    /// not answer.
    func writeConfirmation(
        by registry: any RegistryAdministration, to writer: inout JSONWriter
    ) {
        writer.member("confirmed", bool: registry.unaskedServers.isEmpty)
        guard !registry.unaskedServers.isEmpty else { return }
        writer.beginArray("unasked")
        for server in registry.unaskedServers { writer.element(string: server.description) }
        writer.endArray()
    }

    /// 202 if what was written to the registry may be lost.
    func changeStatus(by registry: any RegistryAdministration) -> UInt16 {
        registry.unaskedServers.isEmpty ? 200 : 202
    }

    /// The most keys that an event names one by one; the audit log has all of them.
    private static let namedKeyCountMax = 10

    private func event(
        _ action: AuditAction, _ keyIDs: [KeyID], _ outcomes: [AdministrationOutcome]
    ) -> String {
        var keys = zip(keyIDs, outcomes).prefix(Self.namedKeyCountMax).map {
            "\(site.logName(of: $0)) \($1.word)"
        }
        if keyIDs.count > keys.count { keys.append("\(keyIDs.count - keys.count) more") }
        return event(action, keys.joined(separator: ", "))
    }

    /// The event-log text about a change of the author's.
    func event(_ action: AuditAction, _ text: String) -> String {
        "\(author.name) from \(author.origin): \(action.rawValue): \(text); "
            + "request \(author.requestID)"
    }

    func problem(_ status: UInt16, _ code: String, _ detail: String) -> AdministrationAnswer {
        AdministrationProblem.answer(status, code, detail, author.requestID)
    }

    func json(_ write: (inout JSONWriter) -> Void) -> AdministrationAnswer {
        var writer = JSONWriter()
        writer.beginObject()
        write(&writer)
        writer.endObject()
        return AdministrationAnswer(
            status: 200, body: writer.finish().readable.array + [UInt8(ascii: "\n")])
    }
}

/// The errors of the admin API, as RFC 9457 problem documents.
enum AdministrationProblem {
    static func answer(
        _ status: UInt16, _ code: String, _ detail: String, _ requestID: String
    ) -> AdministrationAnswer {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("type", constant: "about:blank")
        writer.member("title", constant: StatusPhrase.text(for: status))
        writer.member("status", int: Int64(status))
        writer.member("detail", string: detail)
        writer.member("code", string: code)
        writer.member("request_id", string: requestID)
        writer.endObject()
        return AdministrationAnswer(
            status: status, contentType: "application/problem+json",
            body: writer.finish().readable.array)
    }
}
