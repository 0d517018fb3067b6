public import EventLoop
public import Settings

/// The addresses that the gateway listens on, and their audiences. Opens the sockets on the control
/// thread.
public final class Listeners {
    private struct Place: Hashable {
        let bind: Endpoint
        let isAdmin: Bool
    }

    private let workerCount: Int
    private var open: Set<Place> = []
    /// The listeners of the start, until the workers take them.
    private var initial: [[BoundListener]] = []
    private let inherited: InheritedListeners
    /// The files of unix sockets that a service manager has not made.
    private var files: [Endpoint: SocketFile] = [:]
    /// Addresses at which workers may still have sockets that a reload dropped or moved, each with
    /// the generation of that reload.
    private var closing: [Endpoint: Int] = [:]

    /// Binds every address of `settings` that is not among the inherited listeners. The kernel
    /// accepts connections there from now on.
    ///
    /// It is the first thing that a start does, so that a start which fails because an address is
    /// in use has made no file. Throws an `IOError` that names the address, or a failure that names
    /// the service manager's sockets that no setting asks for; nothing is left open then.
    public init(_ settings: Settings, inherited: InheritedListeners = InheritedListeners()) throws {
        workerCount = settings.workerCount
        self.inherited = inherited
        initial = try bind(settings, generation: 0)
        let strangers = inherited.strangers
        guard strangers.isEmpty else {
            closeUnserved()
            throw ConfigurationFailure(
                "LISTEN_FDS: \(strangers.joined(separator: ", ")): opened by the service manager, "
                    + "and no bind of listeners or admin: add it there, or drop its ListenStream "
                    + "(systemctl edit sallyport.socket)")
        }
        // The listeners of addresses that the configuration does not name any more.
        inherited.close()
    }

    /// Closes the listeners that no worker was given after a start that failed, and removes their
    /// files.
    public func closeUnserved() {
        guard !initial.isEmpty else { return }
        initial = []
        removeFiles()
        open = []
    }

    /// Removes the files of its unix sockets, which are not served any more.
    func removeFiles() {
        for file in files.values { file.remove() }
        files = [:]
    }

    /// Hands the files to the next program, which serves them and removes them.
    func handOverFiles(to next: InheritedListeners) {
        for file in files.values { next.own(file) }
        files = [:]
    }

    /// The sockets of the start by thread, as ``bind(_:generation:names:)`` returns them. To be
    /// called once.
    func takeInitial() -> [[BoundListener]] {
        defer { initial = [] }
        return initial
    }

    /// Binds one socket for each worker and app listener, and the admin thread's for the admin
    /// listeners; none for the control thread, and none if the address is served already. Either
    /// all are opened or none. The caller tells the workers, and calls ``closed(upTo:)`` when they
    /// have done as told.
    ///
    /// `names`: the addresses that the names in `settings` stand for, so that nothing has to be
    /// resolved here; left out at the start, which may block.
    func bind(
        _ settings: Settings, generation: Int,
        names: [Endpoint: Result<SocketAddress, IOError>] = [:]
    ) throws -> [[BoundListener]] {
        var bound = [[BoundListener]](
            repeating: [], count: Hub.threadCount(forWorkers: workerCount))
        var fresh: Set<Place> = []
        var all: Set<Place> = []
        // Clients cannot find a unix socket whose file was removed.
        let served = self.open.filter { files[$0.bind]?.isInPlace != false }
        func open(_ context: ListenerContext, workers: Range<Int>) throws {
            let place = Place(bind: context.bind, isAdmin: context.isAdmin)
            all.insert(place)
            // If another number of workers served the address, there are more sockets, or
            // duplicates.
            var descriptors = [Int32](repeating: -1, count: workers.count)
            if !served.contains(place) {
                let address = try names[place.bind]?.get() ?? place.bind.socketAddress()
                descriptors = try listen(at: place, address, count: workers.count)
                fresh.insert(place)
            }
            for (index, descriptor) in descriptors.enumerated() {
                bound[workers.lowerBound + index % workers.count].append(
                    BoundListener(context: context, descriptor: descriptor))
            }
        }
        do {
            for listener in settings.listeners {
                try open(
                    ListenerContext(listener, rateLimits: settings.rateLimits),
                    workers: 0..<workerCount)
            }
            for (listener, audience) in settings.admin?.places ?? [] {
                try open(
                    ListenerContext(listener, for: audience),
                    workers: workerCount..<workerCount + 1)
            }
        } catch {
            for place in fresh { files.removeValue(forKey: place.bind)?.remove() }
            throw error
        }
        for place in self.open.subtracting(all) {
            closing[place.bind] = generation
            // The file of an address that moves stays: only TCP addresses move.
            files.removeValue(forKey: place.bind)?.remove()
        }
        self.open = all
        return bound
    }

    /// Every worker has closed the sockets that the reloads up to `generation` have dropped.
    func closed(upTo generation: Int) { closing = closing.filter { $0.value > generation } }

    private func listen(
        at place: Place, _ address: SocketAddress, count: Int
    ) throws -> [Int32] {
        // The worker that serves it now closes its sockets as soon as it learns of the move.
        let isMoving = open.contains(Place(bind: place.bind, isAdmin: !place.isAdmin))
        let isOwn = isMoving || closing[place.bind] != nil
        if isMoving, case .unix = place.bind {
            throw ConfigurationFailure(
                "\(place.bind) cannot move between listeners and admin without a restart",
                needsRestart: true)
        }
        let open = try inherited.take(at: address, count: count)
        guard open.isEmpty else {
            if let file = file(at: place.bind), inherited.owns(file) { files[place.bind] = file }
            return open
        }
        let opened = try Socket.listeners(
            on: address, count: count, backlog: Self.backlog, besideOwn: isOwn)
        files[place.bind] = file(at: place.bind)
        if !place.isAdmin { files[place.bind]?.letAllConnect() }
        return opened
    }

    private func file(at bind: Endpoint) -> SocketFile? {
        guard case .unix(let path) = bind else { return nil }
        return SocketFile(path)
    }

    private static let backlog: Int32 = 4096
}

extension AdminSettings {
    /// The listeners of the admin thread, with their audiences.
    fileprivate var places: [(ListenerSettings, ListenerContext.Audience)] {
        var places = [(ListenerSettings(bind: bind), ListenerContext.Audience.operators)]
        if let probes { places.append((ListenerSettings(bind: probes.bind), .probes)) }
        if let api { places.append((api.listener, .administrators)) }
        return places
    }
}

extension Endpoint {
    /// The address in the system's form. A name is resolved, which blocks.
    public func socketAddress() throws(IOError) -> SocketAddress {
        switch self {
        case .unix(let path):
            guard let address = SocketAddress.unix(path) else {
                throw IOError(path, .unresolved("not a path for a unix socket"))
            }
            return address
        case .tcp(let host, let port):
            guard let first = try SocketAddress.resolve(host: host, port: port).first else {
                throw IOError(host, .unresolved("no address"))
            }
            return first
        }
    }
}
