package import AndroidAttestation
package import Attestation
import Bytes
import Crypto
package import EventLoop
package import KeyStore

/// The stores in which keys are revoked.
package struct RevocationStores: Sendable {
    let open: @Sendable () throws -> any RegistryAdministration
    let mark: @Sendable ([KeyID]) throws -> Void

    /// - Parameters:
    ///   - open: connects to the registry; blocks.
    ///   - mark: tells a counter store that gateways share; blocks.
    package init(
        open: @escaping @Sendable () throws -> any RegistryAdministration,
        mark: @escaping @Sendable ([KeyID]) throws -> Void
    ) {
        self.open = open
        self.mark = mark
    }
}

/// Revokes the keys whose certificates a revocation list names. Belongs to the control thread.
///
/// Every gateway looks for such keys when its own list changes, because keys may have enrolled with
/// it under the list before. A lease lets one gateway at a time do so, so that the audit log has
/// one entry for each key. A list that stays the same is gone through once a day, for keys that
/// were imported.
package final class ListedKeyRevocation {
    private let loop: EventLoop
    private let state: RevocationState
    private let log: any EventLog
    private let stores: () -> RevocationStores?
    private let holder: [UInt8]
    private var call: BlockingCall<Result<ListedKeyJob.Outcome, ListedKeyFailure>>?
    private var timer: Timer?
    /// The list in force, and where it came from. No other is begun, because a server may take back
    /// a list, and a revoked key stays revoked.
    private var current: (list: ListedSerials, origin: String)?
    /// True if the list in force is still to be gone through.
    private var isDue = false
    /// The time at which the list in force was last gone through; nil before the first time.
    private var doneAt: MonotonicInstant?
    private var isFailing = false

    /// `stores`: nil if the registry cannot be changed by hand. `holder`: random bytes made at the
    /// start.
    package init(
        loop: EventLoop, state: RevocationState, log: any EventLog, holder: [UInt8],
        stores: @escaping () -> RevocationStores?
    ) {
        self.loop = loop
        self.state = state
        self.log = log
        self.holder = holder
        self.stores = stores
        timer = Timer(loop: loop) { [unowned self] in begin() }
    }

    /// Takes the list that is in force now.
    package func take(_ list: RevocationList, from origin: String) {
        let list = ListedSerials(list)
        // A list that comes back is gone through anew: keys may have enrolled by the one between.
        if current?.list.digest != list.digest { doneAt = nil }
        current = (list, origin)
        if let doneAt, loop.now - doneAt < Self.repetition { return }
        isDue = true
        begin()
    }

    /// Ends. What is under way comes to its end, and is not reported.
    package func close() {
        timer = nil
        call = nil
        current = nil
        isDue = false
    }

    private func begin() {
        guard call == nil, isDue, let (list, origin) = current, let stores = stores() else {
            return
        }
        isDue = false
        let job = ListedKeyJob(list: list, origin: origin, holder: holder, stores: stores)
        do throws(IOError) {
            call = try BlockingCall(name: "revocations", loop: loop) {
                Result { () throws(ListedKeyFailure) in try job.run() }
            } handler: { [unowned self] result in
                call = nil
                end(result, list, origin)
            }
        } catch {
            end(.failure(ListedKeyFailure("\(error)", revokedCount: 0)), list, origin)
        }
    }

    private func end(
        _ result: Result<ListedKeyJob.Outcome, ListedKeyFailure>, _ list: ListedSerials,
        _ origin: String
    ) {
        switch result {
        case .success(.busy(let count)):
            state.note(revoked: count, at: loop.now)
            tell(count, origin)
            again()
        case .success(.revoked(let count)):
            isFailing = false
            state.note(revoked: count, at: loop.now)
            tell(count, origin)
            guard current?.list.digest == list.digest else { return begin() }
            let isNew = doneAt == nil
            doneAt = loop.now
            isDue = false
            // Once more, for keys that were verified by the list before and enrolled behind this.
            if isNew { again() }
        case .failure(let failure):
            state.note(revoked: failure.revokedCount, at: loop.now)
            state.note(revokingFailure: failure.reason)
            tell(failure.revokedCount, origin)
            if !isFailing {
                log.event(
                    level: "error", "android_revocation_failed",
                    "keys of withdrawn certificates could not be revoked, and it is tried again "
                        + "every minute: \(failure.reason)")
            }
            isFailing = true
            again()
        }
    }

    private func tell(_ count: Int, _ origin: String) {
        guard count > 0 else { return }
        log.event(
            level: "warning", "android_keys_revoked",
            "\(String(counting: count, "key")) revoked, because \(origin) names a certificate "
                + "that vouches for them; the audit log has their ids")
    }

    /// Goes through the list that is in force by then, in a while.
    private func again() {
        isDue = true
        timer?.schedule(after: Self.pause)
    }

    private static let pause = Duration.seconds(60)
    private static let repetition = Duration.seconds(86_400)
}

/// The serial numbers of the revoked certificates of a list.
struct ListedSerials: Sendable {
    let serials: [String]
    /// Tells lists of other numbers apart.
    let digest: Bytes32

    init(_ list: RevocationList) {
        serials = list.revokedSerials
        digest = SHA256.hash(Array(serials.joined(separator: " ").utf8))
    }
}

/// The reason why not all keys were revoked.
struct ListedKeyFailure: Error, Sendable {
    let reason: String
    /// The number of keys that were revoked before.
    let revokedCount: Int

    init(_ reason: String, revokedCount: Int) {
        self.reason = reason
        self.revokedCount = revokedCount
    }
}

/// Revokes the keys of one list. Blocks.
struct ListedKeyJob: Sendable {
    enum Outcome: Sendable, Equatable {
        case revoked(Int)
        /// Another gateway is at it. The number is of the keys that were revoked before.
        case busy(Int)
    }

    let list: ListedSerials
    let origin: String
    let holder: [UInt8]
    let stores: RevocationStores

    func run() throws(ListedKeyFailure) -> Outcome {
        var count = 0
        do {
            let registry = try stores.open()
            registry.author = AuditAuthor(
                way: .gateway, name: Self.authorName, origin: origin,
                requestID: String(Hex.encode(list.digest.array).prefix(16)))
            var lease = SharedLease(
                name: Self.leaseName, holder: holder, lifetime: Self.leaseLifetime)
            guard try keep(&lease, registry) else { return .busy(0) }
            defer { release(&lease, registry) }
            var start = 0
            while start < list.serials.count {
                let end = min(start + CertificateQuery.serialCountMax, list.serials.count)
                let part = Array(list.serials[start..<end])
                start = end
                var after: KeyID?
                repeat {
                    guard try keep(&lease, registry) else { return .busy(count) }
                    let page = try registry.activeKeys(
                        under: part, after: after, countMax: Self.pageCountMax)
                    after = page.last
                    guard !page.isEmpty else { break }
                    // The marks first: if the registry then fails, these keys are found again.
                    try stores.mark(page)
                    count += try registry.revoke(page).count { $0 == .done }
                } while after != nil
            }
            return .revoked(count)
        } catch {
            throw ListedKeyFailure("\(error)", revokedCount: count)
        }
    }

    /// Gets the lease, or renews it. False if another gateway has it.
    private func keep(
        _ lease: inout SharedLease, _ registry: any RegistryAdministration
    ) throws(StoreError) -> Bool {
        if let write = lease.write(at: .now()) {
            let outcome = try registry.writeShared(write)
            lease.answered(.success(outcome), at: .now())
        }
        return lease.term(at: .now()) != nil
    }

    private func release(_ lease: inout SharedLease, _ registry: any RegistryAdministration) {
        guard let write = lease.release(at: .now()) else { return }
        // If it fails, the lease ends by itself.
        _ = try? registry.writeShared(write)
    }

    static let leaseName = "android-revocation"
    static let authorName = "revocation list"
    private static let leaseLifetime = Duration.seconds(300)
    private static let pageCountMax = 200
}
