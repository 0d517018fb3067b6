/// The places of the files that a configuration names.
struct FilePlaces {
    /// The configuration's own directory, with its slash; empty for the current one.
    private let directory: String

    /// `workingDirectory`: the directory that `file` is relative to, unless it is absolute.
    init(of file: String, workingDirectory: String) {
        let parent = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
        if parent.hasPrefix("/") || workingDirectory.isEmpty {
            directory = parent
        } else {
            directory = (workingDirectory == "/" ? "" : workingDirectory) + "/" + parent
        }
    }

    /// A path as the configuration gives it, from its own directory on.
    func path(of name: String) -> String { name.hasPrefix("/") ? name : directory + name }
}
