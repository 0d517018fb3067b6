import EventLoop
import Settings

/// The listening sockets of a worker, and the effect of a reload on them and on their connections.
extension Worker {
    func open(_ listeners: [BoundListener]) {
        // A listener opened now would keep the drain from ending.
        guard !isDraining else { return }
        for listener in listeners {
            guard let descriptor = listener.take() else { continue }
            let acceptor = Acceptor(
                worker: self, context: listener.context, descriptor: descriptor)
            acceptors.append(acceptor)
            acceptor.start()
        }
    }

    /// Takes every listener of another configuration.
    func take(_ listeners: [BoundListener]) {
        let contexts = listeners.map(\.context)
        // If the file of a unix socket was lost, a new socket comes, and the old one is closed.
        let renewed = listeners.filter { $0.isOpen && $0.context.bind.isUnix }.map(\.context.bind)
        for acceptor in acceptors {
            let bind = acceptor.context.bind
            guard !renewed.contains(bind), let context = contexts.first(where: { $0.bind == bind })
            else {
                acceptor.close()
                continue
            }
            acceptor.context = context
        }
        acceptors.removeAll { $0.isClosed }
        followListeners(contexts)
        open(listeners)
        // A limit may have been raised.
        resumeAccepting()
    }

    /// Applies the new settings to connections, which keep no trust that their listener had before.
    private func followListeners(_ contexts: [ListenerContext]) {
        var changes: [ObjectIdentifier: ListenerChange] = [:]
        for connection in clients {
            let listener = connection.listener
            let id = ObjectIdentifier(listener)
            let next = contexts.first { $0.isSamePlace(as: listener) }
            let change = changes[id] ?? ListenerChange(from: listener, to: next)
            changes[id] = change
            connection.follow(change)
        }
    }

    func resumeAccepting() {
        guard mayAccept else { return }
        for acceptor in acceptors { acceptor.resume() }
    }
}
