package import Policy

/// The facts about the app and its device that a valid proof states.
package struct ProvenFacts {
    /// True if the proof is of a device alone, and says nothing about an app.
    let isOfDevice: Bool
    let appID: String?
    let environments: KeyEnvironments
    let validationCategory: UInt32?
    let bundleVersion: String?
    let riskMetric: UInt32?

    package init(
        isOfDevice: Bool = false, appID: String?, environments: KeyEnvironments = .all,
        validationCategory: UInt32? = nil, bundleVersion: String? = nil, riskMetric: UInt32? = nil
    ) {
        self.isOfDevice = isOfDevice
        self.appID = appID
        self.environments = environments
        self.validationCategory = validationCategory
        self.bundleVersion = bundleVersion
        self.riskMetric = riskMetric
    }
}
