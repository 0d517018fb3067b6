import Attestation
import EventLoop
import Foundation
import KeyStore
import SQLiteKeyStore
import Testing

private let isAsked = ProcessInfo.processInfo.environment["SALLYPORT_MILLION_KEYS"] != nil

/// A measurement, run by hand: `SALLYPORT_MILLION_KEYS=1 swift test --filter SQLiteMillionKeys`.
@Suite("A million keys", .enabled(if: isAsked))
struct SQLiteMillionKeys {}

extension SQLiteMillionKeys {
    @Test("are imported, opened and found with bounded memory")
    func million() throws {
        let directory = try TemporaryDirectory()
        var generator = SeededGenerator(seed: 1)
        var wanted: [KeyID] = []
        var mark = MonotonicInstant.now()
        func lap(_ what: String) {
            let now = MonotonicInstant.now()
            print("\(what): \(now.nanoseconds(since: mark) / 1_000_000) ms, \(residentMiB()) MiB")
            mark = now
        }
        lap("start")
        do {
            let administration = try SQLiteAdministration(
                path: directory.registryPath, createsIfMissing: true)
            let load = administration.beginImport()
            for number in 0..<1_000_000 {
                let record = generator.record()
                if number % 100 == 0 { wanted.append(record.keyID) }
                try load.add(record)
            }
            #expect(try load.finish().addedCount == 1_000_000)
            lap("imported")
            let size = try FileManager.default.attributesOfItem(
                atPath: directory.registryPath)[.size]
            print("file: \(size as? Int ?? 0) bytes")
            var exportedCount = 0
            try administration.export(KeyFilter()) { (_) throws(NoReply) in exportedCount += 1 }
            #expect(exportedCount == 1_000_000)
            lap("exported")
            #expect(try administration.counts().map(\.count) == [1_000_000])
            lap("counted")
        }
        lap("closed")
        let registry = try SQLiteRegistry(path: directory.registryPath)
        lap("opened")
        for keyID in wanted { #expect(try registry.find(keyID) != nil) }
        lap("found \(wanted.count) one by one")
        for number in 0..<300 {
            _ = try registry.enrol(generator.record(), challenge: generator.bytes16())
            if number == 0 { lap("enrolled one") }
        }
        lap("enrolled 299 one by one")
        let last = Reply<Bool>()
        for number in 0..<5000 {
            registry.enrol(generator.record(), challenge: generator.bytes16()) { _ in
                if number == 4999 { last.give(true) }
            }
        }
        #expect(last.wait() == true)
        lap("enrolled 5000 at once")
        registry.close()
        lap("closed")
    }

    private func residentMiB() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = status.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4096 / (1 << 20)
    }
}
