public import EventLoop
public import Settings

/// Which addresses the gateway listens on, and for whom; opens their sockets on the control thread.
public final class Listeners {
    private struct Place: Hashable {
        let bind: Endpoint
        let isAdmin: Bool
    }

    private let workerCount: Int
    private var open: Set<Place> = []
    /// Of the start, until the workers are there to take them.
    private var initial: [[BoundListener]] = []

    /// Binds every address of `settings`, of which the kernel accepts connections from now on.
    ///
    /// The first thing that a start does, so that one which fails for an address in use has made
    /// no file. Throws an `IOError` that names the address; nothing is left open then.
    public init(_ settings: Settings) throws {
        workerCount = settings.workerCount
        initial = try bind(settings)
    }

    /// After a start that failed: closes what no worker has been given, and removes its files.
    public func closeUnserved() {
        guard !initial.isEmpty else { return }
        initial = []
        Self.removeSocketFiles(open)
        open = []
    }

    /// The sockets of the start by worker, the control thread's last; once.
    func takeInitial() -> [[BoundListener]] {
        defer { initial = [] }
        return initial
    }

    /// One socket for each worker and app listener, the control thread's for the admin listener;
    /// none where the address is served already. Either all are opened or none.
    func bind(_ settings: Settings) throws -> [[BoundListener]] {
        var bound = [[BoundListener]](repeating: [], count: workerCount + 1)
        var fresh: Set<Place> = []
        var all: Set<Place> = []
        func open(_ context: ListenerContext, workers: Range<Int>) throws {
            let place = Place(bind: context.bind, isAdmin: context.isAdmin)
            all.insert(place)
            var descriptors = [Int32](repeating: -1, count: workers.count)
            if !self.open.contains(place) {
                descriptors = try listen(at: place, count: workers.count)
                fresh.insert(place)
            }
            for (index, descriptor) in zip(workers, descriptors) {
                bound[index].append(BoundListener(context: context, descriptor: descriptor))
            }
        }
        do {
            for listener in settings.listeners {
                try open(ListenerContext(listener), workers: 0..<workerCount)
            }
            if let admin = settings.admin {
                try open(
                    ListenerContext(ListenerSettings(bind: admin.bind), isAdmin: true),
                    workers: workerCount..<workerCount + 1)
            }
        } catch {
            Self.removeSocketFiles(fresh)
            throw error
        }
        self.open = all
        return bound
    }

    private func listen(at place: Place, count: Int) throws -> [Int32] {
        // Whoever serves it now closes its sockets when it gets to know that it has moved.
        let isMoving = open.contains(Place(bind: place.bind, isAdmin: !place.isAdmin))
        if isMoving, case .unix = place.bind {
            throw ConfigurationFailure(
                "\(place.bind) cannot move between listeners and admin without a restart")
        }
        return try Socket.listeners(
            on: try place.bind.socketAddress(), count: count, backlog: Self.backlog,
            besideOwn: isMoving)
    }

    private static func removeSocketFiles(_ places: Set<Place>) {
        for place in places {
            guard case .unix(let path) = place.bind else { continue }
            // One that stays harms nobody: the next start replaces it.
            try? File.remove(path)
        }
    }

    private static let backlog: Int32 = 4096
}

extension Endpoint {
    /// The system's form; names are resolved, which blocks.
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
