import GatewayTesting
import JSON
import Testing

@Suite(
    "A name server that says nothing",
    .enabled(if: BuiltProgram.isBuilt && SteppedClock.isPossible), .timeLimit(.minutes(30)))
struct SilentNameServerTests {}

extension SilentNameServerTests {
    /// A library whose look-up of one name never ends.
    private static func library(in directory: ScratchDirectory) throws -> String {
        let source = try directory.write(
            """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <netdb.h>
            #include <string.h>
            #include <unistd.h>
            int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                            struct addrinfo **found) {
                int (*next)(const char *, const char *, const struct addrinfo *,
                            struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
                while (node != NULL && strcmp(node, "collector.test") == 0) pause();
                return next(node, service, hints, found);
            }

            """, to: "silent.c")
        let path = directory.path(of: "silent.so")
        let outcome = try ChildProcess.run("cc", ["-shared", "-fPIC", "-o", path, source])
        try #require(outcome.status == .exited(0), "\(outcome.standardError)")
        return path
    }

    @Test("holds up nothing but what waits for the name")
    func collector() throws {
        let directory = try ScratchDirectory()
        let upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = [
            "otlp: { endpoint: \"http://collector.test:4318\", metrics_interval: 1s }"
        ]
        let gateway = try GatewayProcess(
            configuration, directory: directory,
            launcher: ["env", "LD_PRELOAD=\(Self.library(in: directory))"])
        try gateway.waitForEvent("otlp_down")
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        #expect(try gateway.terminate() == .exited(0))
    }
}
