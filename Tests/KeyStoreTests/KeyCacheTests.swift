import Attestation
import Bytes
import Crypto
import KeyStore
import Testing

@Suite("The key cache")
struct KeyCacheTests {}

extension KeyCacheTests {
    private static func apps(_ ids: String..., platform: PlatformName = .apple) -> [AppIdentity] {
        ids.map { AppIdentity(id: $0, platform: platform, environments: [.production]) }
    }

    @Test("a record of another platform is not one of the app's, and its security level is kept")
    func platforms() {
        var generator = SeededGenerator(seed: 5)
        let other = PlatformName("other")
        var cache = KeyCache(
            recordCountMax: 10, apps: Self.apps("A") + Self.apps("B", platform: other))
        var record = generator.record(appID: "B")
        #expect(cache.insert(record).appIndex == nil)
        for level in [nil, SecurityLevel.tee, .strongbox] {
            for environment in AttestEnvironment.allCases {
                record.platform = other
                record.securityLevel = level
                record.environment = environment
                cache.insert(record)
                let found = cache.find(record.keyID)
                #expect(found == cache.view(of: record))
                #expect(found?.appIndex == 1 && found?.securityLevel == level)
                #expect(found?.environment == environment)
            }
        }
    }

    @Test("a record comes back with its app's index, or none where the app is not configured")
    func fields() {
        var generator = SeededGenerator(seed: 3)
        var cache = KeyCache(recordCountMax: 10, apps: Self.apps("A", "B"))
        var record = generator.record(appID: "B")
        record.environment = .development
        record.status = .revoked
        record.counterFloor = .max
        record.bundleVersion = "7"
        record.validationCategory = 9
        record.riskMetric = 12
        record.deviceBits = DeviceBits(bit0: false, bit1: true)
        let expected = CachedKey(
            publicKey: record.publicKey, appIndex: 1, environment: .development, status: .revoked,
            counterFloor: .max, bundleVersion: "7", validationCategory: 9, riskMetric: 12,
            deviceBits: DeviceBits(bit0: false, bit1: true))
        #expect(cache.find(record.keyID) == nil)
        #expect(cache.insert(record) == expected)
        #expect(cache.find(record.keyID) == expected)
        let foreign = generator.record(appID: "C")
        #expect(cache.insert(foreign).appIndex == nil)
        #expect(cache.find(foreign.keyID)?.bundleVersion == nil)
        #expect(cache.find(foreign.keyID)?.riskMetric == nil)

        cache.replaceApps(Self.apps("C"))
        #expect(cache.count == 0)
        #expect(cache.find(foreign.keyID) == nil)
        #expect(cache.insert(foreign).appIndex == 0)
    }

    @Test("more records than two bytes can number")
    func many() {
        var generator = SeededGenerator(seed: 6)
        let total = 70_000
        var cache = KeyCache(recordCountMax: total, apps: Self.apps("A"))
        var record = generator.record(appID: "A")
        let ids = (0..<total).map { _ in generator.keyID() }
        for (number, id) in ids.enumerated() {
            record.keyID = id
            record.counterFloor = UInt32(number)
            cache.insert(record)
        }
        cache.invalidate(ids.prefix(total / 2).map { $0 })
        let found = ids.map { cache.find($0)?.counterFloor }
        #expect(found == (0..<total).map { $0 < total / 2 ? nil : UInt32($0) })
    }

    @Test("what is known of a device's bits is kept beside every status")
    func deviceBits() {
        var generator = SeededGenerator(seed: 4)
        var cache = KeyCache(recordCountMax: 100, apps: Self.apps("A"))
        for status in [KeyStatus.active, .revoked, .erased] {
            for code in [nil, 0, 1, 2, 3] as [Int64?] {
                var record = generator.record(appID: "A")
                record.status = status
                record.deviceBits = code.flatMap { DeviceBits(code: $0) }
                cache.insert(record)
                let found = cache.find(record.keyID)
                #expect(found?.status == status && found?.deviceBits?.code == code)
            }
        }
    }

    @Test("the place in an installation is kept with its key, and not for the next at its place")
    func succession() throws {
        var generator = SeededGenerator(seed: 6)
        var cache = KeyCache(recordCountMax: 1, apps: Self.apps("A"))
        var successor = generator.record(appID: "A")
        let predecessor = generator.keyID()
        let installation = InstallationID(firstKey: predecessor)
        successor.succession = KeySuccession(
            installation: installation, generation: 1, beganAt: 5, predecessor: predecessor,
            retiresPredecessor: true)
        cache.insert(successor)
        let found = try #require(cache.find(successor.keyID)?.succession)
        #expect(found.installation == installation && found.retires == predecessor)
        #expect(!found.isRetired)
        let view = cache.view(of: successor)
        #expect(view.succession == found)
        successor.succession?.retiresPredecessor = false
        successor.succession?.isRetired = true
        cache.insert(successor)
        let later = cache.find(successor.keyID)?.succession
        #expect(later?.retires == nil && later?.isRetired == true)
        let other = generator.record(appID: "A")
        cache.insert(other)
        let none = cache.find(other.keyID)
        #expect(none != nil && none?.succession == nil)
    }

    @Test("does what a plain list in order of use does", arguments: [1, 2, 7, 64])
    func model(_ countMax: Int) {
        var generator = SeededGenerator(seed: UInt64(countMax))
        let records = (0..<countMax * 3).map { _ in generator.record(appID: "A") }
        var cache = KeyCache(recordCountMax: countMax, apps: Self.apps("A"))
        var model: [(keyID: KeyID, floor: UInt32)] = []
        for step in 0..<6000 {
            var record = records[Int.random(in: 0..<records.count, using: &generator)]
            switch Int.random(in: 0..<100, using: &generator) {
            case 0:
                cache.clear()
                model = []
            case 1..<10:
                cache.invalidate([record.keyID, records[0].keyID])
                model.removeAll { [record.keyID, records[0].keyID].contains($0.keyID) }
            case 10..<50:
                record.counterFloor = UInt32(step)
                record.bundleVersion = step.isMultiple(of: 3) ? "\(step)" : nil
                cache.insert(record)
                model.removeAll { $0.keyID == record.keyID }
                model.append((record.keyID, UInt32(step)))
                if model.count > countMax { model.removeFirst() }
            default:
                let found = cache.find(record.keyID)
                let index = model.firstIndex { $0.keyID == record.keyID }
                #expect(found?.counterFloor == index.map { model[$0].floor })
                if let index {
                    let floor = model[index].floor
                    #expect(
                        found?.bundleVersion == (floor.isMultiple(of: 3) ? "\(floor)" : nil))
                    model.append(model.remove(at: index))
                }
            }
            #expect(cache.count == model.count)
        }
    }
}
