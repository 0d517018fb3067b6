import Background
import EventLoop
import Settings
import Telemetry

extension MetricsPage {
    /// Writes the state of the list of withdrawn certificates, and the keys that it has revoked.
    static func writeAndroid(_ hub: Hub, _ site: Site, _ page: inout MetricFamilies) {
        guard site.settings.hasAndroidApps, let figures = hub.androidRevocations.figures else {
            return
        }
        page.family(
            "sallyport_android_revocation_fetches_total", .counter,
            help: "Questions for the list of withdrawn Android certificates, by their outcome.")
        for outcome in RevocationState.Outcome.allCases {
            page.sample([("outcome", outcome.rawValue)], figures.counts[outcome] ?? 0)
        }
        page.family(
            "sallyport_android_revocation_list_entries", .gauge,
            help: "Entries of the list of withdrawn Android certificates; 0 if there is none.")
        page.sample([], UInt64(figures.entryCount ?? 0))
        page.family(
            "sallyport_android_revocation_list_age_seconds", .gauge,
            help: "The age of that list; from trust.android.revocation.max_age on, no Android key "
                + "can enrol.")
        if let age = figures.age(at: MonotonicInstant.now()) {
            page.sample([], UInt64(age.components.seconds))
        }
        page.family(
            "sallyport_android_revocation_list_max_age_seconds", .gauge,
            help: "trust.android.revocation.max_age.")
        page.sample([], UInt64(figures.ageMax.components.seconds))
        page.family(
            "sallyport_android_keys_revoked_total", .counter,
            help: "Keys that this gateway has revoked because the list names a certificate that "
                + "vouches for them.")
        page.sample([], figures.revokedKeyCount)
        page.family(
            "sallyport_android_revoking_failed", .gauge,
            help: "1 while keys under withdrawn certificates could not be revoked.")
        page.sample([], UInt64(figures.revokingFailure == nil ? 0 : 1))
    }
}
