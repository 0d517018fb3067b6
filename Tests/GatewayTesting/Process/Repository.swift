public import Foundation

/// The files of this repository, as they lie beside the tests.
public enum Repository {
    /// The root folder.
    public static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The root folder, without a slash at its end.
    public static let path = folder.path

    /// The absolute path of `name`, e.g. `docs/settings.md`.
    public static func path(of name: String) -> String { path + "/" + name }
}
