package import KeyStore

extension Judgement {
    /// The facts about the sender that are known when the verdict is reached.
    package struct Circumstances: ~Copyable {
        package var cohort = 0
        /// True if the proof is authentic by itself.
        package var isAuthentic = false
        package var sender = Verdict.Sender()
        package var deviceBits: DeviceBits?

        package init() {}
    }
}
