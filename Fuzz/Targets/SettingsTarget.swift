import Settings

extension FuzzTarget {
    /// Settings that load are printed as a configuration that loads to the same settings; what does
    /// not load says where and why.
    static let settings = FuzzTarget(
        "settings", byteCountMax: 8192, allocatedAtOnce: 4 << 20, allocatedPerByte: 10_000
    ) { bytes in
        let loader = SettingsLoader(
            processorCount: 2, environment: { $0 == "PASSWORD" ? "secret" : nil },
            fileReader: { path in
                path == "/password"
                    ? .success(Array("secret\n".utf8)) : .failure(FileReadFailure("not there"))
            })
        switch loader.load(text: bytes, fileName: "fuzz.yaml") {
        case .failure(let problems):
            try FuzzFinding.require(!problems.problems.isEmpty, "refused without a reason")
        case .success(let loaded):
            let text = SettingsPrinter.text(of: loaded.settings)
            guard case .success(let again) = loader.load(text: text, fileName: "printed") else {
                throw FuzzFinding("what is printed does not load:\n\(text)")
            }
            var settings = again.settings
            // The password is masked.
            if case .redis = settings.counters { settings.counters = loaded.settings.counters }
            try FuzzFinding.requireEqual(
                settings, loaded.settings, "what is printed loads to something else:\n\(text)")
        }
    }
}
