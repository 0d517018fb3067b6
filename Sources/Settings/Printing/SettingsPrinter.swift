/// Writes settings as a configuration with every key, defaults included, for `check --print`.
///
/// Loaded again it gives equal settings, except for passwords of Redis, PostgreSQL and a
/// proxy, which are shown as ``passwordMask``.
public enum SettingsPrinter {
    public static let passwordMask = "***"

    public static func text(of settings: Settings) -> String {
        var yaml = YAMLText()
        if case .redis(let redis) = settings.counters, redis.hasPrintedPassword {
            yaml.comment("The password of Redis is shown as \(passwordMask).")
        }
        if case .postgres(let postgres) = settings.registry, postgres.password != nil {
            yaml.comment("The password of PostgreSQL is shown as \(passwordMask).")
        }
        if settings.apple?.hasPrintedPassword == true {
            yaml.comment("The password of Apple's proxy is shown as \(passwordMask).")
        }
        SettingsReader(processorCount: 1).form.write(settings, to: &yaml)
        return yaml.text
    }
}
