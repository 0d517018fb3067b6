import Foundation
import FuzzTargets
import Testing

/// Replays what is checked in, so that a fault once found is found again by every test run.
@Suite("Fuzz targets")
struct CorpusTests {}

extension CorpusTests {
    private static let corpus = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fuzz/Corpus")

    private static func files(of target: String) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: corpus.appendingPathComponent(target), includingPropertiesForKeys: nil)
    }

    @Test("hold for every file of their corpus", arguments: FuzzTarget.all.map { $0.name })
    func corpus(name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        let files = try Self.files(of: name)
        #expect(files.count >= 5, "a corpus worth the name")
        for file in files {
            #expect(file.lastPathComponent.wholeMatch(of: /[0-9a-f]{40}/) == nil, "give it a name")
            let bytes = Array(try Data(contentsOf: file))
            #expect(bytes.count <= target.byteCountMax, "\(file.lastPathComponent)")
            #expect(throws: Never.self, "\(file.lastPathComponent)") { try target.run(bytes) }
        }
    }

    @Test("hold for what is made, and for it with a byte changed")
    func made() throws {
        for target in FuzzTarget.all {
            for seed in target.seeds() {
                #expect(throws: Never.self, "\(target.name)") { try target.run(seed) }
                for index in stride(from: 1, to: seed.count, by: 1 + seed.count / 64) {
                    var changed = seed
                    changed[index] ^= 0x41
                    #expect(throws: Never.self, "\(target.name): byte \(index)") {
                        try target.run(changed)
                    }
                }
            }
        }
    }

    @Test("what an input made it allocate is measured against its length")
    func cost() throws {
        let target = FuzzTarget.glutton
        #expect(throws: Never.self) {
            try target.requireCheap(inputByteCount: 1024, allocatedByteCount: 1_500_000)
        }
        #expect(throws: FuzzFinding.self) {
            try target.requireCheap(inputByteCount: 1, allocatedByteCount: 1 << 20)
        }
        #expect(throws: FuzzFinding.self) { try target.requireFast(milliseconds: 2, allowed: 1) }
        #expect(throws: Never.self) { try target.requireFast(milliseconds: 1, allowed: 1) }
    }

    @Test("every folder of the corpus belongs to a target, and the canary sings")
    func folders() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
        #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
        #expect(throws: FuzzFinding.self) { try FuzzTarget.canary.run(Array("bird".utf8)) }
        #expect(throws: Never.self) { try FuzzTarget.canary.run(Array("bard".utf8)) }
    }
}
