import Telemetry

/// Finds what apps' reports of failures have in common, by the bounds of the alarms
/// `SallyportAppleDown`, `SallyportBuildBroken` and `SallyportKeysDying`.
extension StatusInspection {
    var clientFailures: [StatusProblem] { appleDown + buildsBroken + keysDying }

    private var unavailableCount: UInt64 {
        recent(history.failureCauses) { $0.code == .serverUnavailable }
    }

    private var appleDown: [StatusProblem] {
        let attested = history.gateway.slots(StatusHistory.whole, .hour, at: history.minute)
            .suffix(Self.recentSlotCount)
            .reduce(UInt64(0)) {
                $0 + UInt64($1[$1.startIndex + StatusHistory.GatewayColumn.attested.rawValue])
            }
        let failed = unavailableCount
        guard failed > Self.failureCountMin, failed > attested else { return [] }
        return [
            StatusProblem(
                .warning, .appleDown,
                "Apple attests no keys: \(failed) reports said so in five minutes, and "
                    + "\(attested) keys were enrolled.",
                "Wait, and let on_missing pass what must work meanwhile; enrolled keys go on.")
        ]
    }

    private var buildsBroken: [StatusProblem] {
        let builds = history.failureVersions.names.filter { Self.buildCodes.contains($0.code) }
        let usual = usual(history.failureVersions) { Self.buildCodes.contains($0.code) }
        let others = unavailableCount
        return Set(builds.map(\.build))
            .sorted { ($0.app, $0.version) < ($1.app, $1.version) }
            .compactMap { build in
                let failed = recent(history.failureVersions) {
                    $0.app == build.app && $0.version == build.version
                        && Self.buildCodes.contains($0.code)
                }
                guard isUnusual(failed, usual), failed > others else { return nil }
                return StatusProblem(
                    .warning, .buildBroken,
                    "\(failed) reports in five minutes said that version \(build.version) of "
                        + "\(build.app) cannot attest.",
                    "Look at the entitlement and the signing of that release, and stop it.")
            }
    }

    private var keysDying: [StatusProblem] {
        let isLoss = { (name: FailureCause) in name.phase == .assert && name.code == .invalidKey }
        let usual = usual(history.failureCauses, isLoss)
        return history.failureCauses.names.filter(isLoss).sorted { $0.system < $1.system }
            .compactMap { name in
                let failed = recent(history.failureCauses) { $0 == name }
                guard isUnusual(failed, usual) else { return nil }
                return StatusProblem(
                    .warning, .keysDying,
                    "\(failed) reports in five minutes said that keys are lost on system "
                        + "\(name.system).",
                    "Let apps enrol again: raise the limits of attestations if they are reached.")
            }
    }

    /// The codes that a device gives if the build is wrong. Codes of the network, of Apple's
    /// servers and of lost keys are not among them.
    private static let buildCodes: Set<FailureReport.Code> = [
        .unsupported, .featureUnsupported, .invalidInput, .unknownSystemFailure, .refused,
    ]

    private func recent<Name>(
        _ table: HistoryTable<Name>, _ isMeant: (Name) -> Bool
    ) -> UInt64 {
        table.names.filter(isMeant).reduce(0) { sum, name in
            table.slots(name, .hour, at: history.minute).suffix(Self.recentSlotCount)
                .reduce(sum) { $0 + UInt64($1.first ?? 0) }
        }
    }

    /// The average count of five minutes of the last day, over all names that `isMeant` selects.
    private func usual<Name>(
        _ table: HistoryTable<Name>, _ isMeant: (Name) -> Bool
    ) -> UInt64 {
        let day = table.names.filter(isMeant).reduce(UInt64(0)) {
            $0 + (table.sums($1, .day, at: history.minute).first ?? 0)
        }
        let recent = recent(table, isMeant)
        return (day - min(day, recent)) / Self.fiveMinutesOfDay
    }

    private func isUnusual(_ count: UInt64, _ usual: UInt64) -> Bool {
        count > Self.failureCountMin && count > Self.unusualFactor * usual
    }

    /// More than one address can have counted (``ClientFailures/rateLimit``).
    private static let failureCountMin: UInt64 = 20
    /// The busiest hour of a day differs less from its average, even on a day of releases.
    private static let unusualFactor: UInt64 = 10
    private static let fiveMinutesOfDay: UInt64 = 288
    /// The number of slots of a minute, including the current one.
    private static let recentSlotCount = 5
}

extension FailureVersion {
    fileprivate struct Build: Hashable {
        let app: String
        let version: String
    }

    fileprivate var build: Build { Build(app: app, version: version) }
}
