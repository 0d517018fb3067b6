import Foundation

/// A real, unmodified nginx on a port of 127.0.0.1, in a directory of its own.
public final class NginxServer: Sendable {
    public let port: UInt16
    private let directory: ScratchDirectory
    private let process: ChildProcess

    public static let isInstalled = (try? ChildProcess.run("nginx", ["-v"]))?.status == .exited(0)

    /// `locations` is the inside of its one `server` block, `options` are those of its `listen`.
    public init(
        locations: String = "location / { return 200 \"nginx\\n\"; }", options: String = ""
    ) throws {
        directory = try ScratchDirectory()
        port = FreePort.find()
        process = try Self.start(
            """
            server {
                listen 127.0.0.1:\(port) \(options);
                \(locations)
            }
            """, in: directory)
    }

    /// Starts one whose `http` block has `site`, and waits until it serves.
    public static func start(
        _ site: String, in directory: ScratchDirectory
    ) throws -> ChildProcess {
        let path = try directory.write(
            """
            daemon off;
            master_process off;
            pid nginx.pid;
            error_log stderr notice;
            events { worker_connections 256; }
            http {
                access_log off;
                client_body_temp_path body;
                proxy_temp_path proxy;
                fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi;
                scgi_temp_path scgi;
                \(site)
            }

            """, to: "nginx-\(UUID()).conf")
        let process = try ChildProcess("nginx", ["-e", "stderr", "-p", directory.path, "-c", path])
        try process.waitForLine(on: .standardError, containing: "getrlimit")
        return process
    }
}
