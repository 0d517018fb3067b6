package import Attestation
package import KeyStore

/// The outcome of a question about a device.
package enum DeviceVerdict: Sendable {
    /// The device is genuine. `bits`: its bits, if they were asked for.
    case genuine(AttestEnvironment, bits: DeviceBits?)
    /// Apple does not accept the token.
    case badToken
    /// The token could not be judged. The text is for log and metrics.
    case unjudged(String)
    /// A limit is reached, which strangers can use up.
    case busy(DeviceBound, retryAfterSeconds: UInt64? = nil)
}

/// The limit that holds questions about devices back.
package enum DeviceBound: Sendable {
    /// The configured number of questions are in flight.
    case inFlight
    /// The configured rate is reached.
    case rate
    /// Apple's own limit is reached, or may be; the label is for log and metrics.
    case apple(label: String)
}
