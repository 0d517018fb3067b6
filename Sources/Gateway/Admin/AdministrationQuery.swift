import Attestation
import Bytes
import EventLoop
import KeyStore
import Policy

/// The reason why a request of the admin API cannot be understood, in words for its sender.
struct AdministrationFault: Error, Equatable {
    let text: String

    init(_ text: String) { self.text = text }
}

/// The query of a request. Each parameter may come once, and unknown ones are refused.
struct AdministrationQuery {
    private(set) var values: [String: String] = [:]

    /// `target` in origin-form.
    init(of target: Span<UInt8>, allowing names: [String]) throws(AdministrationFault) {
        var start = 0
        while start < target.count, target[start] != UInt8(ascii: "?") { start += 1 }
        guard start < target.count else { return }
        let query = target.extracting((start + 1)...).array
        for pair in query.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = try Self.decoded(parts[0])
            guard names.contains(name) else {
                throw AdministrationFault(
                    "no parameter has that name; known: " + names.joined(separator: ", "))
            }
            guard values[name] == nil else {
                throw AdministrationFault("\(name) is given more than once")
            }
            values[name] = try parts.count == 2 ? Self.decoded(parts[1]) : ""
        }
    }

    private static func decoded(
        _ text: ArraySlice<UInt8>
    ) throws(AdministrationFault) -> String {
        do throws(QueryFault) {
            let bytes = try QueryValue.percentDecoded(Array(text).span)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw .badlyEncoded
            }
            return text
        } catch {
            throw AdministrationFault("the query is not percent-encoded UTF-8")
        }
    }

    /// The value as a count of at most `countMax`; `standard` if it is not given.
    func count(
        _ name: String, standard: Int, atMost countMax: Int
    ) throws(AdministrationFault) -> Int {
        guard let text = values[name] else { return standard }
        guard let count = Int(text), (1...countMax).contains(count) else {
            throw AdministrationFault("\(name) is not a number from 1 to \(countMax)")
        }
        return count
    }

    private func keyID(_ name: String) throws(AdministrationFault) -> KeyID? {
        guard let text = values[name] else { return nil }
        guard let keyID = KeyID(base64: text) else {
            throw AdministrationFault("\(name) is not base64 of 32 bytes")
        }
        return keyID
    }

    private func number(_ name: String) throws(AdministrationFault) -> Int64? {
        guard let text = values[name] else { return nil }
        guard let number = Int64(text), number >= 0 else {
            throw AdministrationFault("\(name) is not the number of an entry")
        }
        return number
    }

    static let filterNames = ["app", "environment", "status", "limit", "after"]
    static let auditNames = ["before", "after", "since", "limit"]
    /// The most keys of a page: 1000 keys with their receipts are a few MiB.
    static let pageCountMax = 1000

    func keyFilter() throws(AdministrationFault) -> KeyFilter {
        var filter = KeyFilter()
        filter.appID = values["app"]
        if let text = values["environment"] {
            guard let environment = AttestEnvironment(rawValue: text) else {
                throw AdministrationFault("environment is neither production nor development")
            }
            filter.environment = environment
        }
        if let text = values["status"] {
            guard let status = KeyStatus(rawValue: text) else {
                throw AdministrationFault("status is not one of active, revoked, erased")
            }
            filter.status = status
        }
        filter.after = try keyID("after")
        filter.countMax = try count("limit", standard: 500, atMost: Self.pageCountMax)
        return filter
    }

    func pseudonym() throws(AdministrationFault) -> Pseudonym? {
        guard let text = values["pseudonym"] else { return nil }
        guard let pseudonym = Pseudonym(text) else {
            throw AdministrationFault("pseudonym is not 16 hexadecimal digits")
        }
        return pseudonym
    }

    func auditFilter() throws(AdministrationFault) -> AuditFilter {
        var filter = AuditFilter()
        filter.before = try number("before")
        filter.after = try number("after")
        if let text = values["since"] {
            guard let seconds = WallClock.seconds(fromTimestamp: text) else {
                throw AdministrationFault(
                    "since is not an RFC 3339 time such as 2026-09-21T10:00:00Z")
            }
            filter.since = seconds * 1000
        }
        filter.countMax = try count("limit", standard: 100, atMost: Self.pageCountMax)
        return filter
    }
}
