import Policy

extension AdminSettings {
    static var form: Form<AdminSettings> {
        Form(AdminSettings(bind: .unix(path: ""))) {
            Setting(
                "bind", \.bind, .bind, required: true,
                "Where to listen: only operators should reach it."
            ) { field, admin in
                if !admin.bind.isLocal {
                    field.warning(
                        "\(admin.bind) may be reached from other machines: metrics and status are "
                            + "public there")
                }
            }
            Setting(
                "hosts", \.hosts,
                Kind<[HostPattern]>.list(
                    RouteMatchReader.host, empty: "is empty: leave it out"
                ).unlessEmpty,
                "Names under which browsers reach the status page, beside addresses, localhost, "
                    + "names without a period and that of bind. Others get 421, which prevents DNS "
                    + "rebinding."
            )
            Setting(
                "probes", optional: \.probes, .section(ProbeSettings.form, meant: "bind"),
                "A listener with /livez and /readyz alone, for a supervisor such as the kubelet.")
            Setting(
                "api", optional: \.api,
                .section(AdminAPISettings.form, check: AdminAPISettings.check),
                "A listener with an API that lists, revokes, erases and exports keys and reads "
                    + "rollouts and the audit log. If left out, none.")
        }
    }
}

extension ProbeSettings {
    static var form: Form<ProbeSettings> {
        Form(ProbeSettings(bind: .unix(path: ""))) {
            Setting(
                "bind", \.bind, .bind, required: true,
                "Where to listen.")
        }
    }
}
