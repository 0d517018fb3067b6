/// The Python that the install script makes for the tests, where the package index can be reached.
public enum PythonEnvironment {
    /// The interpreter.
    public static let python = Repository.path(of: ".build/python/bin/python")

    /// True if `module` can be imported there.
    public static func has(_ module: String) -> Bool {
        (try? ChildProcess.run(python, ["-c", "import \(module)"]))?.status == .exited(0)
    }
}
