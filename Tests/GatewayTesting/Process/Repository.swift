public import Foundation

/// The files of this repository, as they lie beside the tests.
public enum Repository {
    /// The root folder.
    public static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The root folder, without a slash at its end.
    public static let path = folder.path

    /// What lies beside the repository, and is absent in a plain checkout.
    public static let shared = folder.deletingLastPathComponent().appending(path: "shared")

    /// The absolute path of `name`, e.g. `docs/settings.md`.
    public static func path(of name: String) -> String { path + "/" + name }

    /// The text of the file `name`.
    public static func text(of name: String) throws -> String {
        try String(contentsOfFile: path(of: name), encoding: .utf8)
    }
}
