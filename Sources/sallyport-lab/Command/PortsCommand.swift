import EventLoop

/// `sallyport-lab ports`: finds free ports for scripts that start servers.
enum PortsCommand {
    private static let usage = "usage: sallyport-lab ports COUNT"
    /// The ports to choose from. They are below the kernel's range for outgoing connections, so
    /// that none of those takes a port before its server does.
    private static let candidates: ClosedRange<UInt16> = 12_000...31_999

    static func run(_ words: [String]) throws {
        let options = LabOptions(words, names: [], operandCounts: 1...1, usage: usage)
        guard let count = Int(options.operands[0]), (1...100).contains(count) else {
            LabExit.usage(usage)
        }
        var found: Set<UInt16> = []
        for _ in 0..<10_000 where found.count < count {
            let port = UInt16.random(in: candidates)
            guard !found.contains(port), isFree(port) else { continue }
            found.insert(port)
            print(port)
        }
        guard found.count == count else { throw LabError("no free ports") }
    }

    private static func isFree(_ port: UInt16) -> Bool {
        guard let address = SocketAddress.numeric(host: "127.0.0.1", port: port),
            let listener = try? Socket.listen(on: address, reusePort: false, backlog: 1)
        else { return false }
        Socket.close(listener)
        return true
    }
}
