import Foundation

/// The commands of this package as the build that runs the tests made them.
public enum BuiltProgram {
    /// They lie beside the test bundle.
    public static let folder: String = {
        let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        return URL(fileURLWithPath: program ?? CommandLine.arguments[0])
            .deletingLastPathComponent().path
    }()

    public static var sallyport: String { folder + "/sallyport" }
    public static var lab: String { folder + "/sallyport-lab" }

    public static let isBuilt = FileManager.default.isExecutableFile(atPath: sallyport)

    /// Runs `sallyport` to its end.
    public static func run(
        _ arguments: [String], standardInput: [UInt8] = []
    ) throws -> ChildProcess.Outcome {
        try ChildProcess.run(sallyport, arguments, standardInput: standardInput)
    }
}
