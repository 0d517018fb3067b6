import AndroidAttestation
import Attestation
import HTTPSClient

/// Declares `trust.android.revocation`.
enum AndroidRevocationReader {
    static var kind: Kind<AndroidRevocationSettings> {
        let section = Kind.section(form) { section, revocation in
            guard case .file = revocation.source else {
                if revocation.url?.hasPrefix("http:") ?? false {
                    section.refuse(["ca"], "is used with an https URL only")
                }
                return
            }
            section.refuse(["url", "ca"], "is of no use beside file")
        }
        return Kind.words([("off", off)], or: section).checked { field, revocation in
            guard revocation.source == .off else { return }
            field.warning(
                "PHONES WHOSE ATTESTATION CERTIFICATES WERE WITHDRAWN ARE ACCEPTED: leaked keys "
                    + "of phone makers imitate any phone, and only this list names them")
        }
    }

    private static var off: AndroidRevocationSettings {
        var revocation = AndroidRevocationSettings()
        revocation.source = .off
        return revocation
    }

    private static var form: Form<AndroidRevocationSettings> {
        Form(AndroidRevocationSettings()) {
            Setting(
                "url", \.source, url, standard: AndroidRevocationSettings.google,
                "The list, fetched in the background through the proxy of apple. http only to "
                    + "this machine.")
            Setting(
                "file", \.source, file,
                "A file with the same document, in place of url, which is read again after each "
                    + "refresh. Something else has to keep it up to date.")
            Setting(
                "refresh", \.refresh,
                .duration(.seconds(60), .seconds(86_400), "leaked keys are used within hours"),
                "How often the list is fetched. Cache-Control: max-age shortens it, to 5m at "
                    + "least.")
            Setting(
                "max_age", \.ageMax,
                .duration(
                    .seconds(3600), .seconds(90 * 86_400),
                    "shorter than a refresh, it would end between two; longer, keys leak "
                        + "unnoticed"),
                "The age from which a list that could not be renewed does not count. Android keys "
                    + "then cannot enrol (503 store_unavailable); enrolled ones go on."
            ) { field, revocation in
                if revocation.ageMax <= revocation.refresh {
                    field.error("is not longer than refresh: no key could enrol in between")
                }
            }
            Setting(
                "ca", optional: \.authoritiesPath, .path,
                "Authorities in PEM for the host of url and a proxy that inspects TLS, in place "
                    + "of the system's."
            ) { field, revocation in
                revocation.authorities = field.authorities()
            }
        }
    }

    private static var url: Kind<AndroidRevocationSettings.Source> {
        Kind(.text("https URL", pattern: "://")) { field in
            guard let text = field.text() else { return nil }
            guard let (host, isPlain) = ProofReader.place(text.value) else {
                // The value may hold a password.
                field.error("is not a URL of a list: write https://host/path, without a login")
                return nil
            }
            guard !isPlain || host.isLocal else {
                field.error(
                    "\(host) is reached without TLS: an attacker in the network could replace "
                        + "the list; write https")
                return nil
            }
            return .url(text.value)
        } yaml: { source in
            if case .url(let url) = source { .text(url) } else { .absent }
        }
    }

    private static var file: Kind<AndroidRevocationSettings.Source> {
        Kind(.path) { field in
            field.filePath().map { .file($0) }
        } yaml: { source in
            if case .file(let path) = source { .text(path) } else { .absent }
        }
    }
}

extension Settings {
    /// True if any app is an Android one, so that a list of withdrawn certificates is needed.
    public var hasAndroidApps: Bool { apps.contains { $0.platform == .android } }

    /// The list that is to be fetched or read; nil if no app is an Android one.
    public var neededRevocation: AndroidRevocationSettings? {
        hasAndroidApps ? trust.androidRevocation : nil
    }

    /// Completes how the list is fetched, once the apps and the proxy are known.
    mutating func completeRevocation(_ section: inout Section) {
        guard let url = trust.androidRevocation.url else { return }
        trust.androidRevocation.proxy = apple?.proxy ?? .environment
        guard hasAndroidApps, trust.androidRevocation.authorities == nil,
            url.hasPrefix("https:")
        else { return }
        trust.androidRevocation.authorities = section.place.systemAuthorities()
    }
}
