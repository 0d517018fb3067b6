import Bytes
import GatewayTokens
import KeyStore
import Testing

@Suite("Ends of challenges")
struct ChallengeTests {}

extension ChallengeTests {
    private func remaining(expiresAt: Int64, now: Int64) -> Int64? {
        Challenge(
            purpose: .assertion, expiresAt: expiresAt, incarnation: Incarnation(0),
            id: Bytes16(word0: 0, word1: 0), keyID: nil
        ).remainingMilliseconds(at: now)
    }

    @Test("a challenge lives until the millisecond that was sealed into it")
    func life() {
        #expect(remaining(expiresAt: 121_000, now: 1000) == 120_000)
        #expect(remaining(expiresAt: 121_000, now: 1001) == 119_999)
        #expect(remaining(expiresAt: 121_000, now: 120_999) == 1)
        #expect(remaining(expiresAt: 121_000, now: 121_000) == nil)
        #expect(remaining(expiresAt: 121_000, now: 121_001) == nil)
    }

    @Test("no time traps")
    func extremes() {
        let times: [Int64] = [.min, .min + 1, -5001, -1, 0, 1, 120_000, .max - 1, .max]
        for expiresAt in times {
            for now in times {
                let left = remaining(expiresAt: expiresAt, now: now)
                #expect((left != nil) == (now < expiresAt))
                if let left { #expect(left > 0) }
            }
        }
    }
}
