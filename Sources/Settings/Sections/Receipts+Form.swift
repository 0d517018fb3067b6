extension ReceiptSettings {
    private static let day = Duration.seconds(86_400)

    static var form: Form<ReceiptSettings> {
        Form(ReceiptSettings()) {
            Setting("renew", \.renews, .onOff, "Whether receipts are renewed.")
            Setting(
                "rate", \.rate, .rate.reading(rate),
                "Requests to Apple, of all gateways together and one by one, up to 500/s. Apple "
                    + "names no limit.")
            Setting(
                "interval", \.interval,
                .duration(
                    day, day * 28,
                    "Apple has no newer receipt for a day, and exchanges none older than 30 days"),
                "From the creation of a receipt to its renewal, never before its \"not before\".")
            Setting(
                "jitter", \.jitter,
                .duration(
                    .zero, day * 7, "with interval it has to stay below the 30 days of a receipt"),
                "By how much later at most, so that those of one hour are not due in one hour.")
            Setting(
                "retry", \.retry, .section(ReceiptRetrySettings.form, check: checkRetry),
                "How long to wait after answers that bring no receipt.")
            Setting(
                "lease", \.lease,
                .duration(
                    .seconds(5), .seconds(600),
                    "a short one is lost to a slow store, a long one delays who takes over"),
                "How long a gateway that died keeps the others from going on.")
        }
    }

    static func check(_ field: Field, _ receipts: ReceiptSettings) {
        if receipts.interval + receipts.jitter > day * 29 {
            field.error(
                "interval and jitter are more than 29d together: Apple exchanges no receipt"
                    + " that is older than 30 days")
        }
    }

    private static func checkRetry(_ field: Field, _ retry: ReceiptRetrySettings) {
        if retry.shortest > retry.longest { field.error("shortest is longer than longest") }
    }

    private static func rate(_ field: Field) -> RateLimitSettings.Rate? {
        guard let rate = RateLimitReader.rate(field) else { return nil }
        guard rate.spacingNanoseconds >= spacingNanosecondsMin else {
            field.error(
                "\(rate) is more than 500/s: they are sent one by one,"
                    + " and Apple throttles whoever asks too often")
            return nil
        }
        return rate
    }
}

extension ReceiptRetrySettings {
    private static let day = Duration.seconds(86_400)

    static var form: Form<ReceiptRetrySettings> {
        Form(ReceiptRetrySettings()) {
            Setting(
                "shortest", \.shortest,
                .duration(.seconds(1), .seconds(3600), "Apple wants to be left alone for a while"),
                "All receipts, when Apple throttles, fails or is out of reach: twice as long each "
                    + "time, unless Apple says how long.")
            Setting(
                "longest", \.longest,
                .duration(.seconds(60), day, "a receipt is to be renewed within 30 days"),
                "The end of that growth.")
            Setting(
                "unauthorized", \.unauthorized,
                .duration(
                    .seconds(60), day, "a key that Apple does not take is a matter for people"),
                "Receipts of a team whose keys Apple does not take. A reload tries at once.")
            Setting(
                "failed", \.failed,
                .duration(.seconds(60), day * 7, "what failed once may fail again"),
                "One receipt whose exchange failed: twice as long each time.")
            Setting(
                "not_found", \.notFound,
                .duration(
                    .seconds(3600), day * 30, "Apple rarely comes to know what it did not know"),
                "One receipt that Apple does not know or that is too old, likewise.")
        }
    }
}
