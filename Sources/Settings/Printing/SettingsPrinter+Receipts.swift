extension SettingsPrinter {
    static func write(_ receipts: ReceiptSettings, to yaml: inout YAMLText) {
        yaml.entry("renew", receipts.renews ? "on" : "off")
        yaml.entry("rate", "\(receipts.rate)")
        yaml.entry("interval", Quantity.describe(receipts.interval))
        yaml.entry("jitter", Quantity.describe(receipts.jitter))
        yaml.mapping("retry") { yaml in
            let retry = receipts.retry
            yaml.entry("shortest", Quantity.describe(retry.shortest))
            yaml.entry("longest", Quantity.describe(retry.longest))
            yaml.entry("unauthorized", Quantity.describe(retry.unauthorized))
            yaml.entry("failed", Quantity.describe(retry.failed))
            yaml.entry("not_found", Quantity.describe(retry.notFound))
        }
        yaml.entry("lease", Quantity.describe(receipts.lease))
    }
}
