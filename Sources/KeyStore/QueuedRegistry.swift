public import Attestation
public import Bytes

/// A registry whose calls go into a queue, from which its own thread takes them.
public protocol QueuedRegistry: Registry {
    var queue: RegistryQueue { get }
}

extension QueuedRegistry {
    public var hearing: ChangeHearing? { queue.hearing }

    public func find(_ lookUps: [RegistryLookUp]) { queue.post(lookUps) }

    public func enrol(
        _ record: KeyRecord, challenge: Bytes16, succeeding claim: SuccessionClaim?,
        reply: @escaping @Sendable (Result<EnrolmentOutcome, StoreError>) -> Void
    ) { queue.post(.enrol(record, challenge: challenge, claim, reply: reply)) }

    public func retire(
        _ retirement: KeyRetirement, by author: AuditAuthor,
        reply: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) { queue.post(.retire(retirement, by: author, reply: reply)) }

    public func advanceDurably(
        _ keyID: KeyID, counter: UInt32,
        reply: @escaping @Sendable (Result<DurableOutcome, StoreError>) -> Void
    ) { queue.post(.advance(keyID, counter: counter, reply: reply)) }

    public func findUser(
        of keyID: KeyID, countedSince: Int64,
        reply: @escaping @Sendable (Result<UserKeys?, StoreError>) -> Void
    ) { queue.post(.findUser(of: keyID, countedSince: countedSince, reply: reply)) }

    public func note(
        _ sighting: KeySighting,
        reply: @escaping @Sendable (Result<UserKeys?, StoreError>) -> Void
    ) { queue.post(.note(sighting, reply: reply)) }

    public func keep(
        _ bits: DeviceBits, of keyID: KeyID,
        reply: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) { queue.post(.keepBits(bits, of: keyID, reply: reply)) }

    public func forget(_ expiry: RegistryExpiry) { queue.post(.forget(expiry)) }

    public func raiseFloors(
        _ floors: [(keyID: KeyID, counter: UInt32)],
        reply: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) { queue.post(.raiseFloors(floors, reply: reply)) }

    public func probe(reply: @escaping @Sendable (Result<Void, StoreError>) -> Void) {
        queue.post(.probe(reply: reply))
    }

    public func dueReceipts(
        _ query: DueReceiptQuery,
        reply: @escaping @Sendable (Result<[DueReceipt], StoreError>) -> Void
    ) { queue.post(.dueReceipts(query, reply: reply)) }

    public func receiptBacklog(
        _ group: ReceiptGroup, now: Int64,
        reply: @escaping @Sendable (Result<ReceiptBacklog, StoreError>) -> Void
    ) { queue.post(.receiptBacklog(group, now: now, reply: reply)) }

    public func storeRenewals(
        _ renewals: FencedRenewals,
        reply: @escaping @Sendable (Result<Set<KeyID>, StoreError>) -> Void
    ) { queue.post(.storeRenewals(renewals, reply: reply)) }

    public func readShared(
        _ name: String, reply: @escaping @Sendable (Result<SharedReading, StoreError>) -> Void
    ) { queue.post(.readShared(name, reply: reply)) }

    public func writeShared(
        _ write: SharedWrite,
        reply: @escaping @Sendable (Result<SharedOutcome, StoreError>) -> Void
    ) {
        if let problem = write.problem { return reply(.failure(problem)) }
        queue.post(.writeShared(write, reply: reply))
    }

    public func onChange(_ handler: @escaping @Sendable (RegistryChange) -> Void) {
        queue.onChange(handler)
    }
}
