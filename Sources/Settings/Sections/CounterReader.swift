/// Declares `counters`: the store, and beside it how accepted counters outlive the process.
enum CounterReader {
    static var kind: Kind<CounterKeeping> {
        .words([("embedded", CounterKeeping())])
            .or(RedisReader.kind) { $0.isMapping }
            .or(embedded) { field in
                field.node("redis") == nil
                    && ["embedded", "floors_directory", "on_floors_unkept"].contains {
                        field.node($0) != nil
                    }
            }
    }

    /// The mapping for counters that are kept in the process, with the other settings.
    private static var embedded: Kind<CounterKeeping> {
        let form = Form(EmbeddedReader()) {
            Setting(
                "embedded", \.isEmbedded, .words([("true", true)]),
                "Counters in the memory of the gateway.")
            options(\.floors)
        }
        return Kind.section(form).map(
            { CounterKeeping(floors: $0.floors) },
            from: { keeping in
                guard case .embedded = keeping.store else { return nil }
                return EmbeddedReader(floors: keeping.floors)
            })
    }

    private struct EmbeddedReader {
        var isEmbedded = true
        var floors = FloorSettings()
    }

    @FormBuilder<Root>
    static func options<Root>(
        _ floors: WritableKeyPath<Root, FloorSettings>
    ) -> [Setting<Root>] {
        let path = Kind.path.map(
            { FloorSettings.Directory.path($0) },
            from: { if case .path(let path) = $0 { path } else { nil } })
        Setting(
            "floors_directory", floors.appending(path: \.directory),
            .words([("auto", .standard), ("off", .off)], or: path),
            "A directory on a tmpfs for accepted counters that the registry does not have yet. "
                + "They outlive a killed gateway, and are copied beside an SQLite registry every "
                + "0.1 s. auto: /run/sallyport, else /dev/shm. off: the copy alone.")
        Setting(
            "on_floors_unkept", floors.appending(path: \.whenUnkept), .word,
            "Assertions while that copy has not been written for 2 s. serve: they are accepted, "
                + "and a loss of the machine would lose their counters. refuse: they get 503.")
    }
}
