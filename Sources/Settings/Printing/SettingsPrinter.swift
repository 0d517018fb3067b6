/// Writes settings as a configuration with every key, defaults included, for `check --print`.
///
/// Loaded again it gives equal settings, except for passwords of Redis, PostgreSQL and a
/// proxy, which are shown as ``passwordMask``.
public enum SettingsPrinter {
    public static let passwordMask = "***"

    public static func text(of settings: Settings) -> String {
        var masked: [String] = []
        if case .redis(let redis) = settings.counters, redis.hasPrintedPassword {
            masked.append("Redis")
        }
        if case .postgres(let postgres) = settings.registry, postgres.password != nil {
            masked.append("PostgreSQL")
        }
        if settings.apple?.hasPrintedPassword == true { masked.append("Apple's proxy") }
        let lines =
            masked.map { "# The password of \($0) is shown as \(passwordMask)." }
            + SettingsReader(processorCount: 1).form.yaml(settings).lines
        return lines.map { "\($0)\n" }.joined()
    }
}
