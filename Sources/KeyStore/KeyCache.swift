public import Attestation
import Bytes
public import Crypto

/// The part of a key record that the request path needs.
public struct CachedKey: Hashable, Sendable {
    public var publicKey: P256PublicKey
    /// The index into the app table given to the cache; nil if the app is no longer configured.
    public var appIndex: Int?
    public var environment: AttestEnvironment
    public var securityLevel: SecurityLevel?
    public var status: KeyStatus
    public var counterFloor: UInt32
    public var bundleVersion: String?
    public var validationCategory: UInt32?
    public var riskMetric: UInt32?
    public var deviceBits: DeviceBits?
    /// Nil if the key is the only one that its installation has had.
    public var succession: CachedSuccession?

    public init(
        publicKey: P256PublicKey, appIndex: Int?, environment: AttestEnvironment,
        securityLevel: SecurityLevel? = nil, status: KeyStatus, counterFloor: UInt32,
        bundleVersion: String? = nil, validationCategory: UInt32? = nil, riskMetric: UInt32? = nil,
        deviceBits: DeviceBits? = nil, succession: CachedSuccession? = nil
    ) {
        self.publicKey = publicKey
        self.appIndex = appIndex
        self.environment = environment
        self.securityLevel = securityLevel
        self.status = status
        self.counterFloor = counterFloor
        self.bundleVersion = bundleVersion
        self.validationCategory = validationCategory
        self.riskMetric = riskMetric
        self.deviceBits = deviceBits
        self.succession = succession
    }
}

/// One worker's records of the keys used most recently: bounded, every step O(1).
///
/// An entry takes about 130 bytes in a few flat arrays, which grow as the cache fills; only records
/// that tell of the app take more. The cache knows nothing of keys that do not exist.
public struct KeyCache: ~Copyable {
    /// The rarely present part of a record.
    private struct Details {
        var bundleVersion: String?
        var validationCategory: UInt32?
    }

    /// The small fields of a record in twelve bytes.
    private struct Marks {
        var counterFloor: UInt32
        /// ``noMetric`` if it is not known.
        var riskMetric: UInt32
        var appIndex: UInt16
        /// The environment in its lowest bit, above it the code of the security level.
        var provenance: UInt8
        /// The status in its two lowest bits, above them the device's bits and whether they are
        /// known.
        var state: UInt8
    }

    private static let noApp = UInt16.max
    private static let noMetric = UInt32.max

    public let recordCountMax: Int
    /// The configured apps by index.
    public private(set) var apps: [AppIdentity]
    private var appIndexes: [AppName: UInt16] = [:]

    /// An id says nothing without its platform.
    private struct AppName: Hashable {
        let id: String
        let platform: PlatformName
    }

    private var index = KeyIndex()
    private var keys: [KeyID] = []
    private var publicKeys: [P256PublicKey] = []
    private var marks: [Marks] = []
    private var details: [Int32: Details] = [:]
    private var successions: [Int32: CachedSuccession] = [:]
    /// Neighbours in the order of use, -1 at the ends. `newer` also links the free entries.
    private var newer: [Int32] = []
    private var older: [Int32] = []
    private var newest: Int32 = -1
    private var oldest: Int32 = -1
    private var firstFree: Int32 = -1
    public private(set) var count = 0

    /// `apps` are the configured apps; the first 65,535 can be told apart.
    public init(recordCountMax: Int, apps: [AppIdentity]) {
        self.recordCountMax = min(max(1, recordCountMax), Int(Int32.max) - 1)
        self.apps = apps
        appIndexes = Self.indexes(of: apps)
    }

    private static func indexes(of apps: [AppIdentity]) -> [AppName: UInt16] {
        let names = apps.prefix(Int(noApp)).enumerated().map { index, app in
            (AppName(id: app.id, platform: app.platform), UInt16(index))
        }
        return Dictionary(names, uniquingKeysWith: { first, _ in first })
    }

    private func appIndex(of record: KeyRecord) -> UInt16? {
        appIndexes[AppName(id: record.appID, platform: record.platform)]
    }

    /// Takes another app table after a reload. Forgets every record, because their indexes mean
    /// nothing now.
    public mutating func replaceApps(_ apps: [AppIdentity]) {
        clear()
        self.apps = apps
        appIndexes = Self.indexes(of: apps)
    }

    /// The record, which becomes the one used last; nil if it is not cached.
    public mutating func find(_ keyID: KeyID) -> CachedKey? {
        guard let position = index.position(of: keyID, in: keys) else { return nil }
        let place = Int32(position)
        if place != newest {
            unlink(place)
            linkAsNewest(place)
        }
        return cachedKey(at: position)
    }

    /// Keeps `record`, in place of an older version or of the record that was unused for longest.
    @discardableResult
    public mutating func insert(_ record: KeyRecord) -> CachedKey {
        if let position = index.position(of: record.keyID, in: keys) {
            remove(Int32(position))
        } else if count == recordCountMax {
            remove(oldest)
        }
        let place = takePlace()
        let position = Int(place)
        keys[position] = record.keyID
        publicKeys[position] = record.publicKey
        marks[position] = Marks(
            counterFloor: record.counterFloor,
            riskMetric: record.riskMetric.map { min($0, Self.noMetric - 1) } ?? Self.noMetric,
            appIndex: appIndex(of: record) ?? Self.noApp,
            provenance: Self.provenance(record.environment, record.securityLevel),
            state: Self.state(record.status, record.deviceBits))
        if record.bundleVersion != nil || record.validationCategory != nil {
            details[place] = Details(
                bundleVersion: record.bundleVersion,
                validationCategory: record.validationCategory)
        }
        if let succession = record.succession { successions[place] = CachedSuccession(succession) }
        index.insert(position, in: keys)
        linkAsNewest(place)
        count += 1
        return cachedKey(at: position)
    }

    /// The view of `record` that ``insert(_:)`` returns, without keeping anything.
    public func view(of record: KeyRecord) -> CachedKey {
        CachedKey(
            publicKey: record.publicKey, appIndex: appIndex(of: record).map(Int.init),
            environment: record.environment, securityLevel: record.securityLevel,
            status: record.status,
            counterFloor: record.counterFloor, bundleVersion: record.bundleVersion,
            validationCategory: record.validationCategory, riskMetric: record.riskMetric,
            deviceBits: record.deviceBits,
            succession: record.succession.map { CachedSuccession($0) })
    }

    /// Raises floors: no counter of these keys up to the given one is accepted any more.
    public mutating func raiseFloors(_ floors: [(keyID: KeyID, counter: UInt32)]) {
        for floor in floors {
            guard let position = index.position(of: floor.keyID, in: keys) else { continue }
            marks[position].counterFloor = max(marks[position].counterFloor, floor.counter)
        }
    }

    /// Forgets records that others have changed.
    public mutating func invalidate(_ changed: [KeyID]) {
        for keyID in changed {
            if let position = index.position(of: keyID, in: keys) { remove(Int32(position)) }
        }
    }

    /// Forgets everything and gives the memory back.
    public mutating func clear() {
        index.removeAll()
        keys = []
        publicKeys = []
        marks = []
        details = [:]
        successions = [:]
        newer = []
        older = []
        newest = -1
        oldest = -1
        firstFree = -1
        count = 0
    }

    private func cachedKey(at position: Int) -> CachedKey {
        let mark = marks[position]
        let detail = details.isEmpty ? nil : details[Int32(position)]
        return CachedKey(
            publicKey: publicKeys[position],
            appIndex: mark.appIndex == Self.noApp ? nil : Int(mark.appIndex),
            environment: mark.provenance & 1 == 0 ? .production : .development,
            securityLevel: SecurityLevel(code: Int64(mark.provenance >> 1)),
            status: Self.status(mark.state),
            counterFloor: mark.counterFloor,
            bundleVersion: detail?.bundleVersion,
            validationCategory: detail?.validationCategory,
            riskMetric: mark.riskMetric == Self.noMetric ? nil : mark.riskMetric,
            deviceBits: Self.deviceBits(mark.state),
            succession: successions.isEmpty ? nil : successions[Int32(position)])
    }

    private static func provenance(
        _ environment: AttestEnvironment, _ level: SecurityLevel?
    ) -> UInt8 {
        (environment == .production ? 0 : 1) | UInt8(level?.code ?? 0) << 1
    }

    private static let bitsAreKnown: UInt8 = 0b1_0000

    private static func state(_ status: KeyStatus, _ bits: DeviceBits?) -> UInt8 {
        let code = UInt8(truncatingIfNeeded: status.code)
        guard let bits else { return code }
        return code | UInt8(truncatingIfNeeded: bits.code) << 2 | bitsAreKnown
    }

    private static func status(_ state: UInt8) -> KeyStatus {
        switch state & 0b11 {
        case 0: .active
        case 1: .revoked
        default: .erased
        }
    }

    private static func deviceBits(_ state: UInt8) -> DeviceBits? {
        guard state & bitsAreKnown != 0 else { return nil }
        return DeviceBits(code: Int64(state >> 2 & 0b11))
    }

    // MARK: places and their order

    /// Takes a place for a new record. The arrays grow by one if none is free.
    private mutating func takePlace() -> Int32 {
        if firstFree >= 0 {
            let place = firstFree
            firstFree = newer[Int(place)]
            return place
        }
        keys.append(KeyID(digest: .zero))
        publicKeys.append(P256PublicKey(x: .zero, y: .zero))
        marks.append(
            Marks(
                counterFloor: 0, riskMetric: Self.noMetric, appIndex: 0, provenance: 0, state: 0))
        newer.append(-1)
        older.append(-1)
        return Int32(keys.count - 1)
    }

    private mutating func remove(_ place: Int32) {
        index.remove(Int(place), in: keys)
        unlink(place)
        if !details.isEmpty { details[place] = nil }
        if !successions.isEmpty { successions[place] = nil }
        newer[Int(place)] = firstFree
        firstFree = place
        count -= 1
    }

    private mutating func linkAsNewest(_ place: Int32) {
        older[Int(place)] = newest
        newer[Int(place)] = -1
        if newest >= 0 { newer[Int(newest)] = place } else { oldest = place }
        newest = place
    }

    private mutating func unlink(_ place: Int32) {
        let before = newer[Int(place)]
        let after = older[Int(place)]
        if before >= 0 { older[Int(before)] = after } else { newest = after }
        if after >= 0 { newer[Int(after)] = before } else { oldest = before }
    }
}
