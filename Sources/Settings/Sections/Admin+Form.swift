import Policy

extension AdminSettings {
    static var form: Form<AdminSettings> {
        Form(AdminSettings(bind: .unix(path: ""))) {
            Setting(
                "bind", \.bind, .bind, required: true,
                "The address to listen on. Bind it where only operators can connect."
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
                "Names, or *.domain, under which browsers reach the status page and its JSON, "
                    + "beside addresses, localhost, names without a period and that of bind. Under "
                    + "others they answer 421: a foreign page could lead an operator's browser "
                    + "here by a name of its own (DNS rebinding). Metrics and probes have any name."
            )
            Setting(
                "probes", optional: \.probes, .section(ProbeSettings.form, meant: "bind"),
                "A listener with /livez and /readyz alone, for those who watch over the process, "
                    + "such as the kubelet. If left out, only bind answers them.")
            Setting(
                "api", optional: \.api,
                .section(AdminAPISettings.form, check: AdminAPISettings.check),
                "An API on a listener of its own, by which programs list, revoke, erase and export "
                    + "keys and read rollouts and the audit log. If left out, there is none.")
        }
    }
}

extension ProbeSettings {
    static var form: Form<ProbeSettings> {
        Form(ProbeSettings(bind: .unix(path: ""))) {
            Setting(
                "bind", \.bind, .bind, required: true,
                "The address to listen on. Whatever reaches it learns nothing but whether the "
                    + "gateway is alive and ready.")
        }
    }
}
