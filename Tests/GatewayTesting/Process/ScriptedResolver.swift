import Foundation

/// What names stand for, for one process: a library that the process loads first looks them up in a
/// directory. A name that is no file there goes to the system, below `.scripted` it has no address.
public final class ScriptedResolver: Sendable {
    private static let program = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <limits.h>
        #include <netdb.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>

        typedef int lookup(const char *, const char *, const struct addrinfo *, struct addrinfo **);

        int getaddrinfo(
            const char *node, const char *service, const struct addrinfo *hints,
            struct addrinfo **list
        ) {
            lookup *system = (lookup *)dlsym(RTLD_NEXT, "getaddrinfo");
            const char *directory = getenv("SCRIPTED_NAMES");
            char path[PATH_MAX], address[64];
            if (!node || !directory) return system(node, service, hints, list);
            snprintf(path, sizeof path, "%s/%s", directory, node);
            int file = open(path, O_RDONLY | O_CLOEXEC);
            if (file < 0) {
                if (strstr(node, ".scripted")) return EAI_NONAME;
                return system(node, service, hints, list);
            }
            ssize_t count = read(file, address, sizeof address - 1);
            close(file);
            if (count <= 0) return EAI_AGAIN;
            address[count] = 0;
            return system(address, service, hints, list);
        }

        """

    public static let isPossible =
        (try? ChildProcess.run("cc", ["--version"]))?.status == .exited(0)

    /// What a program is started with.
    public let launcher: [String]
    private let names: String

    /// The files lie in `directory`.
    public init(in directory: ScratchDirectory) throws {
        let source = try directory.write(Self.program, to: "resolver.c")
        let library = directory.path(of: "resolver.so")
        let outcome = try ChildProcess.run(
            "cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"])
        guard outcome.status == .exited(0) else { throw RawSocketError(outcome.standardError) }
        names = directory.path(of: "names")
        try FileManager.default.createDirectory(
            atPath: names, withIntermediateDirectories: false)
        launcher = ["env", "LD_PRELOAD=\(library)", "SCRIPTED_NAMES=\(names)"]
    }

    /// From now on `name` stands for `address`.
    public func set(_ name: String, _ address: String) throws {
        try Data(address.utf8).write(to: URL(fileURLWithPath: "\(names)/\(name)"))
    }

    /// From now on an answer about `name` does not come before ``release(_:_:)``.
    public func hold(_ name: String) throws {
        guard mkfifo("\(names)/\(name)", 0o600) == 0 else { throw RawSocketError.system("mkfifo") }
    }

    /// From now on `name` stands for `address`. Those that wait for an answer get none.
    public func release(_ name: String, _ address: String) throws {
        // A look-up waits until this end is open, and then reads until it is closed.
        let file = open("\(names)/\(name)", O_RDWR)
        guard file >= 0 else { throw RawSocketError.system("open") }
        defer { close(file) }
        try Data(address.utf8).write(to: URL(fileURLWithPath: "\(names)/\(name)"), options: .atomic)
    }
}
