/// A Python that tests run programs with.
public struct PythonInterpreter: Sendable {
    public let path: String

    /// Debian's, with Debian's packages.
    public static let debian = PythonInterpreter(path: "/usr/bin/python3")
    /// The one that the install script makes, where the package index can be reached.
    public static let environment = PythonInterpreter(
        path: Repository.path(of: ".build/python/bin/python"))

    /// True if these modules, with commas between them, can be imported.
    public func has(_ modules: String) -> Bool {
        (try? ChildProcess.run(path, ["-c", "import \(modules)"]))?.status == .exited(0)
    }
}
