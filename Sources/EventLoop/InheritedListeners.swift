import CLibevent
import CLinux

/// Listening sockets that were open before this program began: those of a service manager
/// (sd_listen_fds(3)), or those of the process's former program.
///
/// A listener that is not taken is closed with this object.
public final class InheritedListeners {
    private struct Entry {
        let descriptor: Int32
        let address: SocketAddress
        /// The manager's name for the socket, or nil for one of a former program.
        let name: String?
    }

    private var entries: [Entry] = []
    /// The identities (``SocketFile/identity``) of the unix sockets' files that this process made.
    private var ownFiles: Set<String> = []

    public init() {}

    deinit { close() }

    /// Closes the listeners that were not taken, and removes their files if they are ours.
    public func close() {
        for entry in entries {
            Socket.close(entry.descriptor)
            guard case .unix(let path) = entry.address.form, let file = SocketFile(path) else {
                continue
            }
            if owns(file) { file.remove() }
        }
        entries = []
    }

    /// Takes over the listeners that the environment announces to this very process, and removes
    /// the announcement, so that no child takes them for its own.
    ///
    /// The variables are `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`, ``variable`` and
    /// ``filesVariable``. Throws if one of the descriptors is not a listening stream socket that
    /// can be served.
    public static func take() throws(IOError) -> InheritedListeners {
        let listeners = InheritedListeners()
        let words = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", variable, filesVariable].map {
            HostSystem.takeEnvironment($0)
        }
        let processID = String(HostSystem.processID)
        if words[0] == processID, let text = words[1] {
            guard let count = Int32(text), 0...Int32(countMax) ~= count else {
                throw IOError("LISTEN_FDS", .unresolved("\(text) is not a number of sockets"))
            }
            let names = (words[2] ?? "").split(separator: ":", omittingEmptySubsequences: false)
            for index in 0..<Int(count) {
                let name = index < names.count ? String(names[index]) : ""
                try listeners.adopt(firstDescriptor + Int32(index), name: name)
            }
        }
        for word in list(words[3], for: processID) {
            guard let descriptor = Int32(word) else {
                throw IOError(variable, .unresolved("\(word) is not a descriptor"))
            }
            try listeners.adopt(descriptor, name: nil)
        }
        listeners.ownFiles.formUnion(list(words[4], for: processID))
        return listeners
    }

    /// The words of `PID:WORD,...`; none if the list is meant for another process.
    private static func list(_ text: String?, for processID: String) -> [String] {
        guard let text, let colon = text.firstIndex(of: ":"), text[..<colon] == processID else {
            return []
        }
        return text[text.index(after: colon)...].split(separator: ",").map(String.init)
    }

    /// Adds a listening socket of this process.
    public func add(_ descriptor: Int32) throws(IOError) { try adopt(descriptor, name: nil) }

    /// `file` belongs to one of the listeners and to this process. The last process that serves it
    /// removes it.
    public func own(_ file: SocketFile) { ownFiles.insert(file.identity) }

    /// True if this process made the file, false if a service manager did.
    public func owns(_ file: SocketFile) -> Bool { ownFiles.contains(file.identity) }

    private func adopt(_ descriptor: Int32, name: String?) throws(IOError) {
        let subject =
            (name == nil ? "" : "LISTEN_FDS: ") + "descriptor \(descriptor)" + Self.mention(name)
        guard Self.number(descriptor, SO_ACCEPTCONN) == 1,
            Self.number(descriptor, SO_TYPE) == Socket.stream,
            let address = Socket.localAddress(descriptor)
        else { throw IOError(subject, .unresolved("not a listening stream socket")) }
        // Clients would appear under IPv4-mapped addresses, which address rules do not cover.
        guard
            address.family != AF_INET6
                || Socket.option(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY) == 1
        else {
            throw IOError(
                "\(subject), \(address)",
                .unresolved("accepts IPv4 too: give it BindIPv6Only=ipv6-only"))
        }
        let status = sallyport_adopt_descriptor(descriptor)
        guard status == 0 else { throw IOError(subject, errno: status) }
        if !address.isUnix { Socket.setStreamOptions(descriptor) }
        entries.append(Entry(descriptor: descriptor, address: address, name: name))
    }

    /// The number of an option, or nil for a descriptor that is not an open socket.
    private static func number(_ descriptor: Int32, _ option: Int32) -> Int32? {
        var value: Int32 = 0
        var byteCount = socklen_t(MemoryLayout<Int32>.size)
        let status = unsafe getsockopt(descriptor, SOL_SOCKET, option, &value, &byteCount)
        return status == 0 ? value : nil
    }

    /// Returns at least `count` listeners at `address`, which the caller has to close; some are
    /// duplicates if fewer were inherited. Empty if none was.
    public func take(at address: SocketAddress, count: Int) throws(IOError) -> [Int32] {
        var found = entries.filter { $0.address == address }.map(\.descriptor)
        guard !found.isEmpty else { return [] }
        entries.removeAll { $0.address == address }
        let originalCount = found.count
        while found.count < count {
            let copy = sallyport_duplicate(found[found.count % originalCount])
            guard copy >= 0 else {
                let code = sallyport_errno()
                for descriptor in found { Socket.close(descriptor) }
                throw IOError(address.description, errno: code)
            }
            found.append(copy)
        }
        return found
    }

    /// The sockets that a service manager has opened and that were not taken, such as `[::1]:80
    /// (web.socket)`.
    public var strangers: [String] {
        entries.compactMap { entry in
            entry.name.map { "\(entry.address)" + Self.mention($0) }
        }
    }

    /// Managers need not name their sockets.
    private static func mention(_ name: String?) -> String {
        guard let name, !name.isEmpty else { return "" }
        return " (\(name))"
    }

    /// Keeps the listeners open for the program that replaces this one in the same process. Returns
    /// the environment variables by which it finds them with ``take()``. To be undone with
    /// ``revoke()`` if the replacement fails.
    public func announce() -> [String] {
        for entry in entries { _ = sallyport_keep_on_exec(entry.descriptor, 1) }
        let descriptors = entries.map { String($0.descriptor) }.joined(separator: ",")
        let files = ownFiles.sorted().joined(separator: ",")
        return [
            "\(Self.variable)=\(HostSystem.processID):\(descriptors)",
            "\(Self.filesVariable)=\(HostSystem.processID):\(files)",
        ]
    }

    public func revoke() {
        for entry in entries { _ = sallyport_keep_on_exec(entry.descriptor, 0) }
    }

    /// The variable `PID:DESCRIPTOR,...`, for the next program of the process.
    public static let variable = "SALLYPORT_LISTENERS"
    /// The variable `PID:DEVICE.NUMBER,...`: the files that the process has to remove.
    public static let filesVariable = "SALLYPORT_SOCKET_FILES"
    /// The first descriptor, SD_LISTEN_FDS_START.
    private static let firstDescriptor: Int32 = 3
    /// The most listeners: far more than a gateway has addresses.
    private static let countMax = 1024
}
