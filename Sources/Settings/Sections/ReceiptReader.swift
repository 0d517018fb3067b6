/// Reads `receipts`.
enum ReceiptReader {
    private static let day = Duration.seconds(86_400)

    static func receipts(_ field: Field) -> ReceiptSettings? {
        field.section { section in
            var receipts = ReceiptSettings()
            section.set("renew", &receipts.renews) {
                $0.choice([("on", true), ("off", false)])
            }
            section.set("rate", &receipts.rate, rate)
            section.set("interval", &receipts.interval) {
                $0.duration(
                    day, day * 28,
                    "Apple has no newer receipt for a day, and exchanges none older than 30 days")
            }
            section.set("jitter", &receipts.jitter) {
                $0.duration(
                    .zero, day * 7, "with interval it has to stay below the 30 days of a receipt")
            }
            section.set("retry", &receipts.retry, retry)
            section.set("lease", &receipts.lease) {
                $0.duration(
                    .seconds(5), .seconds(600),
                    "a short one is lost to a slow store, a long one delays who takes over")
            }
            if receipts.interval + receipts.jitter > day * 29 {
                field.error(
                    "interval and jitter are more than 29d together: Apple exchanges no receipt"
                        + " that is older than 30 days")
            }
            return receipts
        }
    }

    private static func rate(_ field: Field) -> RateLimitSettings.Rate? {
        guard let rate = RateLimitReader.rate(field) else { return nil }
        guard rate.spacingNanoseconds >= ReceiptSettings.spacingNanosecondsMin else {
            field.error(
                "\(rate) is more than 500/s: they are sent one by one,"
                    + " and Apple throttles whoever asks too often")
            return nil
        }
        return rate
    }

    private static func retry(_ field: Field) -> ReceiptRetrySettings? {
        field.section { section in
            var retry = ReceiptRetrySettings()
            section.set("shortest", &retry.shortest) {
                $0.duration(.seconds(1), .seconds(3600), "Apple wants to be left alone for a while")
            }
            section.set("longest", &retry.longest) {
                $0.duration(.seconds(60), day, "a receipt is to be renewed within 30 days")
            }
            section.set("unauthorized", &retry.unauthorized) {
                $0.duration(
                    .seconds(60), day, "a key that Apple does not take is a matter for people")
            }
            section.set("failed", &retry.failed) {
                $0.duration(.seconds(60), day * 7, "what failed once may fail again")
            }
            section.set("not_found", &retry.notFound) {
                $0.duration(
                    .seconds(3600), day * 30, "Apple rarely comes to know what it did not know")
            }
            if retry.shortest > retry.longest {
                field.error("shortest is longer than longest")
            }
            return retry
        }
    }
}
