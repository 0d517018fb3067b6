import Attestation
import Judgement
import Policy
import Testing

@testable import Gateway

@Suite("Versions in metrics")
struct NamedVersionsTests {
    private let versions = NamedVersions()
    private let meters = [AppMeter(platform: .apple), AppMeter(platform: .apple)]
}

extension NamedVersionsTests {
    private func rows() -> [String: UInt64] {
        var counts = AppCounts()
        for meter in meters { meter.add(to: &counts) }
        return versions.rows(of: "app", counts).reduce(into: [:]) { rows, row in
            let count = row.counts[Int(RequestBucket.verified.rawValue)]
            if count > 0 { rows[row.version] = count }
        }
    }

    private func count(_ version: String?, times: Int = 1, worker: Int = 0) {
        for _ in 0..<times { meters[worker].count(.verified, version: version) }
    }

    @Test("a new release is named at once, and the sum of the old ones never jumps or falls")
    func newest() {
        for number in 1...NamedVersions.countMax { count("1.\(number)", times: 10) }
        count("1.1", worker: 1)
        #expect(rows()["1.1"] == 11 && rows()["other"] == nil)
        count("2")
        #expect(rows()["2"] == 1 && rows()["1.1"] == nil && rows()["other"] == nil)
        count("1.1", worker: 1)
        #expect(rows()["other"] == 1)
        count("0.9", times: 3)
        #expect(rows()["other"] == 4)
        count("3", worker: 1)
        #expect(rows()["3"] == 1 && rows()["1.2"] == nil && rows()["other"] == 4)
    }

    @Test("however many there are, they make few series, and none is made of a stranger's words")
    func bounded() {
        for number in 0..<10_000 { count("9.\(number)") }
        count("1\"}\n", times: 5)
        count(nil, times: 7)
        let rows = rows()
        #expect(rows.count == NamedVersions.countMax + 2)
        #expect(rows["unknown"] == 7)
        #expect(rows.values.reduce(0, +) == 10_012)
        #expect(!rows.keys.contains { $0.contains("\n") })
    }
}
