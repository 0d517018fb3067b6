import Administration
import Attestation
import Bytes
import EventLoop
import HTTP
import JSON
import KeyStore
import Policy
import Settings

/// What quotas there are, and the counts of their senders.
extension AdministrationJob {
    func quotas() -> AdministrationAnswer {
        json { writer in QuotaLine.write(site.settings.quotas, to: &writer) }
    }

    /// Shows a count or changes it. Nothing is changed before the audit log has the entry.
    func quota(_ order: QuotaOrder) throws -> AdministrationAnswer {
        guard let quota = site.settings.quotas.first(where: { $0.name == order.quota }) else {
            return problem(404, "quota_unknown", "no quota has this name")
        }
        guard order.selection.fits(quota.subject) else {
            return problem(
                400, "bad_request",
                "\(quota.name) counts by \(quota.subject.rawValue): name the sender so, or by "
                    + "unknown=true")
        }
        var opened: (any RegistryAdministration)?
        func registry() throws -> any RegistryAdministration {
            let registry = try opened ?? open()
            opened = registry
            return registry
        }
        let subject: QuotaSubject
        switch try self.subject(of: order.selection, quota, registry) {
        case .success(let known): subject = known
        case .failure(let unknown): return problem(404, unknown.code, unknown.text)
        }
        let count = quota.count(of: subject, around: wallMilliseconds)
        func charge(_ change: QuotaCharge.Change) -> QuotaVerdict {
            charges.make(QuotaCharge(change, of: count, limit: quota.limit))
        }
        // Gives nothing back, which tells what is used.
        guard case .granted(let used) = charge(.giveBack(0)) else {
            return unavailable("the counter store does not answer: nothing was changed")
        }
        let change: QuotaChange
        switch order.action {
        case .show: return told(quota, count, used: used)
        case .reset:
            change = QuotaChange(
                action: .resetQuota, quota: quota, count: count, subject: subject, amount: used)
        case .grant(let amount):
            change = QuotaChange(
                action: .grantQuota, quota: quota, count: count, subject: subject,
                amount: amount)
        }
        return try make(change, usedBefore: used, registry(), charge)
    }

    private func make(
        _ change: QuotaChange, usedBefore: Int, _ registry: any RegistryAdministration,
        _ charge: (QuotaCharge.Change) -> QuotaVerdict
    ) throws -> AdministrationAnswer {
        let outcome = change.amount == 0 ? "unchanged" : "done"
        try registry.append(change.note(outcome))
        var used = usedBefore
        if change.amount != 0 {
            let verdict = charge(change.charge)
            guard case .granted(let left) = verdict else {
                return failed(change, verdict, registry)
            }
            used = left
        }
        var answer = told(change.quota, change.count, used: used) { writer in
            writer.member("outcome", string: outcome)
            writer.member("used_before", int: Int64(usedBefore))
            writeConfirmation(by: registry, to: &writer)
        }
        // The counter store has made the change; only its entry in the audit log may be lost.
        answer.status = changeStatus(by: registry)
        answer.event = event(change, outcome)
        return answer
    }

    /// The counter store has not confirmed a change that the audit log has. A second entry says so.
    private func failed(
        _ change: QuotaChange, _ verdict: QuotaVerdict, _ registry: any RegistryAdministration
    ) -> AdministrationAnswer {
        let isUnknown = verdict == .unknown
        let outcome = isUnknown ? "unconfirmed" : "failed"
        let text =
            isUnknown
            ? "the counter store did not answer: the change may be made, now or with the sender's "
                + "next request at this gateway: look at the count there before you repeat it"
            : "the counter store did not take the change: nothing was changed"
        var answer = unavailable(text, isUnknown ? "counters_unconfirmed" : "counters_unavailable")
        answer.event = event(change, outcome)
        do throws(StoreError) {
            try registry.append(change.note(outcome))
        } catch {
            answer.failure = "\(text); the audit log has only that it was to be made: \(error)"
        }
        return answer
    }

    /// The sender of a selection. A key or an app that does not exist is a slip, whose count would
    /// be changed for nothing.
    private func subject(
        of selection: QuotaSelection, _ quota: Quota,
        _ registry: () throws -> any RegistryAdministration
    ) throws -> Result<QuotaSubject, UnknownSender> {
        switch selection {
        case .key(let keyID):
            guard let record = try registry().find(keyID) else { return .failure(.key) }
            return .success(
                quota.subject == .installation ? .installation(record.installation) : .key(keyID))
        case .user(let name):
            let bytes = Array(name.utf8)
            return .success(site.quotaSubject(ofUser: bytes.span))
        case .address(let address): return .success(site.quotaSubject(ofAddress: address))
        case .app(let id):
            let isKnown = site.settings.apps.contains { $0.id == id }
            return isKnown ? .success(.app(id)) : .failure(.app)
        case .installation(let id): return .success(.installation(id))
        case .unknown: return .success(.unknown)
        }
    }

    // MARK: answers

    /// `writeChange` writes what became of a change.
    private func told(
        _ quota: Quota, _ count: QuotaCount, used: Int,
        writeChange: (inout JSONWriter) -> Void = { _ in }
    ) -> AdministrationAnswer {
        json { writer in
            writer.member("quota", string: quota.name)
            writer.member("count", string: Hex.encode(count.name.array))
            writeChange(&writer)
            writer.member("used", int: Int64(used))
            writer.member("limit", int: Int64(quota.limit))
            writer.member("remaining", int: Int64(max(0, quota.limit - used)))
            writer.beginObject("period")
            writer.member("start", string: Self.time(count.period.lowerBound))
            writer.member("end", string: Self.time(count.period.upperBound))
            writer.endObject()
        }
    }

    private static func time(_ milliseconds: Int64) -> String {
        WallClock.timestamp(seconds: milliseconds / 1000)
    }

    private func event(_ change: QuotaChange, _ outcome: String) -> String {
        event(
            change.action,
            "\(change.quota.name), \(change.amount) to count "
                + "\(Hex.encode(change.count.name.array)): \(outcome)")
    }

    private func unavailable(
        _ text: String, _ code: String = "counters_unavailable"
    ) -> AdministrationAnswer {
        var answer = problem(503, code, text)
        answer.failure = text
        return answer
    }
}

/// A sender that does not exist.
private enum UnknownSender: Error {
    case key
    case app

    var code: String { self == .key ? "key_unknown" : "app_unknown" }
    var text: String {
        self == .key ? "no key has this id" : "no app of the configuration has this id"
    }
}

/// A change to a count, as the audit log has it.
private struct QuotaChange {
    let action: AuditAction
    let quota: Quota
    let count: QuotaCount
    let subject: QuotaSubject
    /// What is given back; 0 if there is nothing. A reset takes it if it is negative.
    let amount: Int

    /// Two resets at once must not give back the same, so the store finds out what is used.
    var charge: QuotaCharge.Change { action == .resetQuota ? .reset : .giveBack(amount) }

    func note(_ outcome: String) -> AuditNote {
        AuditNote(action, quota.name, outcome: outcome, detail: "\(sender): \(amount) given back")
    }

    /// The sender. Users and networks are named by their count alone, because the log must not have
    /// what they are.
    private var sender: String {
        switch subject {
        case .key(let keyID): "key \(keyID.base64)"
        case .app(let id): "app \(id)"
        case .installation(let id): "installation \(id)"
        case .unknown: "unknown senders"
        case .user: "user of count \(Hex.encode(count.name.array))"
        case .network: "network of count \(Hex.encode(count.name.array))"
        }
    }
}
