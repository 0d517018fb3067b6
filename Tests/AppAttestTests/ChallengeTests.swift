import AppAttest
import Bytes
import Testing

@Suite("Challenge ages")
struct ChallengeTests {
    private func remaining(issuedAt: Int64, now: Int64, timeToLive: Int64) -> Int? {
        Challenge(
            purpose: .assertion, issuedAt: issuedAt, incarnation: Incarnation(0),
            id: Bytes16(word0: 0, word1: 0), keyID: nil
        ).remainingMilliseconds(at: now, timeToLive: timeToLive)
    }

    @Test("a challenge lives for its time, from the millisecond it was issued in")
    func life() {
        #expect(remaining(issuedAt: 1000, now: 1000, timeToLive: 120_000) == 120_000)
        #expect(remaining(issuedAt: 1000, now: 1001, timeToLive: 120_000) == 119_999)
        #expect(remaining(issuedAt: 1000, now: 120_999, timeToLive: 120_000) == 1)
        #expect(remaining(issuedAt: 1000, now: 121_000, timeToLive: 120_000) == nil)
    }

    @Test("one from a gateway whose clock is ahead is taken, and lives no longer for it")
    func skew() {
        let skew = Challenge.clockSkewMilliseconds
        #expect(remaining(issuedAt: 10_000, now: 10_000 - skew, timeToLive: 500) == 500)
        #expect(remaining(issuedAt: 10_000, now: 10_000 - skew - 1, timeToLive: 500) == nil)
    }

    @Test("no time traps")
    func extremes() {
        let times: [Int64] = [.min, .min + 1, -5001, -5000, -1, 0, 1, 120_000, .max - 1, .max]
        for issuedAt in times {
            for now in times {
                for life in times {
                    let left = remaining(issuedAt: issuedAt, now: now, timeToLive: life)
                    guard let left else { continue }
                    #expect(left > 0 && left <= life)
                    #expect(issuedAt <= now || issuedAt - now <= Challenge.clockSkewMilliseconds)
                }
            }
        }
        #expect(remaining(issuedAt: .min, now: .max, timeToLive: .max) == nil)
        #expect(remaining(issuedAt: .max, now: .min, timeToLive: .max) == nil)
    }
}
