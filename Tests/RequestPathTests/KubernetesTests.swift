import Foundation
import GatewayTesting
import Testing

/// The manifests of `deploy/kubernetes`, as its own check sees them: no cluster is needed.
@Suite("deploy/kubernetes", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct KubernetesTests {}

extension KubernetesTests {
    private static let manifests = Repository.folder.appending(path: "deploy/kubernetes")
    private static let overlays = ["single-sqlite", "several"]

    private static func check(
        _ overlay: String, in folder: URL = manifests,
        with python: String = PythonInterpreter.debian.path,
        _ options: [String] = []
    ) throws -> ChildProcess.Outcome {
        try ChildProcess.run(
            python,
            [folder.appending(path: "check.py").path] + options
                + [folder.appending(path: "overlays/\(overlay)").path], within: .seconds(120))
    }

    @Test("what the overlays make fits together, and check takes their configuration")
    func agreement() throws {
        for overlay in Self.overlays {
            let outcome = try Self.check(overlay, ["--sallyport", BuiltProgram.sallyport])
            #expect(
                outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        }
    }

    @Test(
        "what the overlays make is valid by Kubernetes' published schemas",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: PythonInterpreter.environment.path),
            "kubernetes-validate is not installed: scripts/install.sh test"))
    func schemas() throws {
        for overlay in Self.overlays {
            let outcome = try Self.check(
                overlay, with: PythonInterpreter.environment.path, ["--schemas"])
            #expect(
                outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        }
    }

    /// One mistake: in which file, what stands there instead, and words of the fault it makes.
    private struct Mistake {
        let file: String
        let old: String
        let new: String
        let fault: String
        var overlay = "several"
    }

    private static let mistakes = [
        Mistake(
            file: "base/deployment.yaml", old: "containerPort: 9465", new: "containerPort: 9466",
            fault: "port probes is 9466"),
        Mistake(
            file: "base/service.yaml", old: "targetPort: http", new: "targetPort: web",
            fault: "no port of the container is named web"),
        Mistake(
            file: "base/deployment.yaml", old: "path: /readyz", new: "path: /livez",
            fault: "readinessProbe asks for /livez"),
        Mistake(
            file: "base/deployment.yaml", old: "Seconds: 60", new: "Seconds: 30",
            fault: "a pod is killed after 30s"),
        Mistake(
            file: "base/service-monitor.yaml", old: "component: admin", new: "component: web",
            fault: "the ServiceMonitor selects 0 Services"),
        Mistake(
            file: "overlays/several/deployment.yaml", old: "path: redis-password", new: "path: x",
            fault: "redis-password is no item of the Secret"),
        Mistake(
            file: "overlays/several/sallyport.yaml", old: "mode: enforce", new: "mode: enfroce",
            fault: "did you mean \"enforce\"?"),
        Mistake(
            file: "overlays/single-sqlite/deployment.yaml", old: "type: Recreate",
            new: "type: RollingUpdate", fault: "SQLite is for one pod at a time",
            overlay: "single-sqlite"),
        Mistake(
            file: "overlays/single-sqlite/sallyport.yaml", old: "/var/lib/sallyport/registry.db",
            new: "/tmp/registry.db", fault: "/tmp/registry.db would not outlive the pod",
            overlay: "single-sqlite"),
    ]

    @Test("their check finds mistakes")
    func mistakes() throws {
        let directory = try ScratchDirectory()
        for (index, mistake) in Self.mistakes.enumerated() {
            let folder = URL(filePath: directory.path(of: "\(index)"))
            try FileManager.default.copyItem(at: Self.manifests, to: folder)
            let file = folder.appending(path: mistake.file)
            let text = try String(contentsOf: file, encoding: .utf8)
            let wrong = text.replacing(mistake.old, with: mistake.new)
            #expect(wrong != text, "\(mistake.file) has no \(mistake.old)")
            try wrong.write(to: file, atomically: true, encoding: .utf8)
            let outcome = try Self.check(
                mistake.overlay, in: folder, ["--sallyport", BuiltProgram.sallyport])
            #expect(outcome.status == .exited(1), "\(mistake.fault)")
            #expect(outcome.standardOutput.contains(mistake.fault), "\(outcome.standardOutput)")
        }
    }
}
