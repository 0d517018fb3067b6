import Attestation
import Bytes
import KeyStore

/// Makes the calls of the counter script for one configuration.
struct CounterCalls {
    let layout: RedisKeyLayout
    /// Milliseconds, divided once because each call needs them.
    private let graceMilliseconds: Int
    private let stateMilliseconds: Int

    init(_ configuration: RedisCounterConfiguration) {
        graceMilliseconds = configuration.grace.wholeMilliseconds
        stateMilliseconds = configuration.deviceLifetime.wholeMilliseconds
        layout = RedisKeyLayout(prefix: configuration.keyPrefix)
    }

    /// `incarnation`: nil for that of the challenge.
    func advance(
        _ request: CounterAdvance, _ part: CounterScript.Part, _ incarnation: Incarnation? = nil
    ) -> CounterScript.Call {
        CounterScript.Call(
            part: part,
            names: CounterNames(
                keyID: request.keyID, challenge: request.challenge.id, isFree: part != .whole),
            incarnation: incarnation ?? request.challenge.incarnation,
            mark: request.uniqueness.mark,
            windowSize: request.uniqueness.counter == nil
                ? CounterScript.noCounter
                : min(max(request.windowSize, 1), CounterScript.windowSizeMax),
            floor: request.floor, expiresAt: request.challenge.expiresAt,
            graceMilliseconds: graceMilliseconds, stateMilliseconds: stateMilliseconds,
            rates: request.rates)
    }

    /// Accepts a token of another issuer at `moment`. It is remembered for `life`.
    func spend(
        token id: Bytes16, forMilliseconds life: Int, at moment: StoreMoment
    ) -> CounterScript.Call {
        // The token's end does not follow a correction of the clock in the meantime.
        let expiresAt = moment.milliseconds.addingReportingOverflow(
            Int64(max(life, 1) + ServerLife.stepMilliseconds))
        return CounterScript.Call(
            part: .spend, names: CounterNames(challenge: id), incarnation: moment.incarnation,
            mark: 1, windowSize: 1, floor: 0,
            expiresAt: expiresAt.overflow ? .max : expiresAt.partialValue,
            graceMilliseconds: graceMilliseconds, stateMilliseconds: 1)
    }
}
