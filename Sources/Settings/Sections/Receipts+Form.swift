extension ReceiptSettings {
    private static let day = Duration.seconds(86_400)

    static var form: Form<ReceiptSettings> {
        Form(ReceiptSettings()) {
            Setting("renew", \.renews, .onOff, "Whether receipts are renewed.")
            Setting(
                "rate", \.rate, rate,
                "Requests to Apple by all gateways together, up to 500/s.")
            Setting(
                "interval", \.interval,
                .duration(
                    day, day * 28,
                    "Apple has no newer receipt for a day, and exchanges none older than 30 days"),
                "The time from a receipt's creation to its renewal.")
            Setting(
                "jitter", \.jitter,
                .duration(
                    .zero, day * 7, "with interval it must stay below the 30 days of a receipt"),
                "A random delay, with interval at most 29d.")
            Setting(
                "retry", \.retry, .section(ReceiptRetrySettings.form, check: checkRetry),
                "The pause after an answer without a receipt.")
            Setting(
                "lease", \.lease,
                .duration(
                    .seconds(5), .seconds(600),
                    "a short one is lost to a slow store, and a long one delays the gateway that "
                        + "takes over"),
                "How long a dead gateway holds up the others.")
        }
    }

    static func check(_ section: inout Section, _ receipts: inout ReceiptSettings) {
        if receipts.interval + receipts.jitter > day * 29 {
            section.error(
                "interval and jitter are more than 29d together: Apple exchanges no receipt"
                    + " that is older than 30 days")
        }
    }

    private static func checkRetry(_ section: inout Section, _ retry: inout ReceiptRetrySettings) {
        if retry.shortest > retry.longest { section.error("shortest is longer than longest") }
    }

    private static var rate: Kind<RateLimitSettings.Rate> {
        .rate.checked { field, rate in
            if rate.spacingNanoseconds < spacingNanosecondsMin {
                field.error(
                    "\(rate) is more than 500/s: they are sent one by one,"
                        + " and Apple throttles a team that asks too often")
            }
        }
    }
}

extension ReceiptRetrySettings {
    private static let day = Duration.seconds(86_400)

    static var form: Form<ReceiptRetrySettings> {
        Form(ReceiptRetrySettings()) {
            Setting(
                "shortest", \.shortest,
                .duration(.seconds(1), .seconds(3600), "Apple wants to be left alone for a while"),
                "The pause of all receipts when Apple throttles, fails or cannot be reached. It "
                    + "doubles each time, unless Apple says how long.")
            Setting(
                "longest", \.longest,
                .duration(.seconds(60), day, "a receipt is to be renewed within 30 days"),
                "The longest such pause.")
            Setting(
                "unauthorized", \.unauthorized,
                .duration(
                    .seconds(60), day, "a key that Apple does not take is a matter for people"),
                "The pause of a team whose keys Apple refuses.")
            Setting(
                "failed", \.failed,
                .duration(.seconds(60), day * 7, "what failed once may fail again"),
                "The pause of a receipt whose exchange failed. It doubles.")
            Setting(
                "not_found", \.notFound,
                .duration(
                    .seconds(3600), day * 30, "Apple rarely learns what it did not know"),
                "The pause of a receipt that Apple does not know. It doubles.")
        }
    }
}
