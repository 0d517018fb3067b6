extension CaptureSettings {
    static var form: Form<CaptureSettings> {
        Form(CaptureSettings(directory: "")) {
            Setting(
                "directory", \.directory,
                .path.checked { field, _ in
                    field.warning(
                        "keeps attestations, assertions and signed data of refused requests on "
                            + "this disk: remove it once the cause is found")
                }, required: true,
                "The directory for the files (mode 0600), one for each request. If missing, it is "
                    + "made with mode 0700. If other users can read it, nothing is kept.")
            Setting(
                "size_max", \.byteCountMax,
                .byteCount(.mebibyte...16 * .gibibyte, "they share the disk with the registry"),
                "The size of all files together, of which there are at most 10,000. The oldest are "
                    + "removed first.")
        }
    }
}
