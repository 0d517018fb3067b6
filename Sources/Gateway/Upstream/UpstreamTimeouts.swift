import EventLoop
import Settings

/// An upstream's time-outs in nanoseconds, divided once because `Duration` counts in 128 bits.
struct UpstreamTimeouts {
    let connect: UInt64
    let send: UInt64
    let response: UInt64
    let read: UInt64
    let idle: UInt64
    /// 0 for none. It is of no use if each key has its server, because the weight moves keys, each
    /// of them twice.
    let slowStart: UInt64
    /// The bound of a try that another may follow.
    let attempt: UInt64?
    /// The time for which a server with requests of ours may be silent; nil for any time.
    let ping: UInt64?

    init(_ settings: UpstreamSettings) {
        connect = settings.connectTimeout.wholeNanoseconds
        send = settings.sendTimeout.wholeNanoseconds
        response = settings.responseTimeout.wholeNanoseconds
        read = settings.readTimeout.wholeNanoseconds
        idle = settings.idleTimeout.wholeNanoseconds
        slowStart = settings.balance == .hashKey ? 0 : settings.slowStart.wholeNanoseconds
        attempt = settings.retries.timeout?.wholeNanoseconds
        ping =
            settings.pingInterval > .zero ? settings.pingInterval.wholeNanoseconds : nil
    }
}
