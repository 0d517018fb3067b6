import AndroidAttestationTesting
import AppAttestTesting
import EventLoop

/// The names that `--fault` takes.
enum DeviceFaults {
    /// Prints them for the platform of `--platform` or of the file; for both if there is neither.
    static func list(_ desk: DeviceDesk, ofEnrolment isEnrolment: Bool) throws {
        var platform: LabPlatform? = desk.options.optionalChoice("--platform")
        if platform == nil, File.exists(desk.path) { platform = try desk.platform() }
        for one in LabPlatform.allCases where platform == nil || platform == one {
            print("faults of an \(isEnrolment ? "attestation" : "assertion") (\(one)):")
            for line in lines(one, isEnrolment) { print("  \(line)") }
        }
    }

    private static func lines(_ platform: LabPlatform, _ isEnrolment: Bool) -> [String] {
        switch (platform, isEnrolment) {
        case (.apple, true): AttestationFault.allCases.map { "\($0.rawValue)  \($0.code)" }
        case (.android, true): AndroidFault.allCases.map { "\($0.rawValue)  \($0.code)" }
        case (.apple, false): AssertionFault.allCases.map { "\($0.rawValue)  \($0.code)" }
        case (.android, false): PhoneSignatureFault.allCases.map(\.rawValue)
        }
    }
}
