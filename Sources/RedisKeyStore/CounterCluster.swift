import Attestation
import Bytes
import EventLoop
import KeyStore
import Redis

/// The masters of a cluster, as one worker sees them: the slots of each master, and a connection to
/// each.
///
/// The map is a hint: a server that does not keep a slot says so and does nothing. The map is asked
/// for again and again; if not all masters that a server names can be reached, the next server is
/// asked.
final class CounterCluster {
    private let loop: EventLoop
    private let configuration: RedisCounterConfiguration
    /// The configuration that connections of masters begin with, except for the endpoint.
    private var connection: RedisConfiguration
    let calls: CounterCalls
    private let news: IncarnationNews
    private let scout: ClusterScout
    private var map = RedisSlotMap()
    /// True once there was a map. A master that appears later may be a replica that took another's
    /// place.
    private var hadMap = false
    private var nodes: [RedisEndpoint: CounterNode] = [:]
    private var leaving: [ObjectIdentifier: CounterNode] = [:]
    /// Calls that wait until a slot has moved completely.
    private var pauses: [ObjectIdentifier: (timer: Timer, reply: (CounterVerdict) -> Void)] = [:]
    private var isClosed = false
    private(set) var lastFailure: RedisFailure?
    var onStateChange: (() -> Void)?
    /// Called when a master may have lost what was accepted there.
    var onLoss: (() -> Void)?
    var onUnconfirmed: ((Int) -> Void)?
    var onRefusal: ((String) -> Void)?

    init(
        loop: EventLoop, configuration: RedisCounterConfiguration, calls: CounterCalls,
        news: IncarnationNews
    ) {
        self.news = news
        self.loop = loop
        self.configuration = configuration
        self.calls = calls
        connection = configuration.connection
        scout = ClusterScout(loop: loop, configuration: configuration.connection)
        scout.onMap = { [weak self] in self?.take($0) }
        scout.onFailure = { [weak self] failure in
            guard let self, !isConnected else { return }
            lastFailure = failure
            onStateChange?()
        }
    }

    func open() { scout.open() }

    func close() {
        isClosed = true
        scout.close()
        for node in nodes.values { node.close() }
        for node in leaving.values { node.close() }
        leaving = [:]
        let paused = pauses.values
        pauses = [:]
        for pause in paused { pause.reply(.unavailable) }
    }

    func update(_ next: RedisCounterConfiguration) {
        connection = next.connection
        scout.update(connection, beside: map.masters)
        for (endpoint, node) in nodes { node.update(configuration(of: endpoint)) }
    }

    var isWhole: Bool {
        map.isComplete && map.masters.allSatisfy { nodes[$0]?.isConnected == true }
    }

    var isConnected: Bool { nodes.values.contains { $0.isConnected } }

    var refusal: String? {
        guard !nodes.values.contains(where: \.isServing) else { return nil }
        return nodes.values.lazy.compactMap(\.refusal).first
    }

    func node(keyID: KeyID?, challenge: Bytes16) -> CounterNode? {
        let layout = calls.layout
        let tag = keyID.map(layout.tag) ?? layout.tag(challenge)
        return map[RedisSlot(ofTag: tag)].flatMap { nodes[$0] }
    }

    /// Looks, once in an interval, at what may have changed without notice.
    func check() {
        for node in nodes.values { node.checkIncarnation() }
        // The server that gave a map with masters that cannot be reached may be cut off itself.
        let isDoubtful = nodes.values.contains { !$0.isConnected }
        scout.ask(another: isDoubtful)
    }

    // MARK: calls

    /// The detours of a call so far, bounded so that it does not go round forever.
    private struct Detour {
        var hopCount = 0
        var pauseCount = 0
    }

    private static let hopCountMax = 5
    private static let pause = Duration.milliseconds(20)

    func run(
        _ call: CounterScript.Call, in slot: RedisSlot, reply: @escaping (CounterVerdict) -> Void
    ) {
        run(call, in: slot, Detour(), reply: reply)
    }

    /// Asks the master of a slot something about no counter, or the one that it names, once.
    func ask(
        _ command: RedisCommand, in slot: RedisSlot, reply: @escaping (RedisOutcome) -> Void
    ) {
        guard let node = map[slot].flatMap({ nodes[$0] }) else { return reply(.unavailable) }
        node.ask(command) { [weak self, weak node] outcome in
            guard let self, !isClosed, case .reply(.error(let line)) = outcome,
                let redirection = RedisRedirection(line, askedAt: node?.endpoint)
            else { return reply(outcome) }
            switch redirection {
            case .moved(_, let endpoint):
                let node = move(slot, to: endpoint)
                scout.ask(another: false)
                node.ask(command, reply: reply)
            case .ask(_, let endpoint):
                guard map.masters.contains(endpoint) else { return reply(outcome) }
                self.node(at: endpoint).ask(command, isAsking: true, reply: reply)
            }
        }
    }

    /// Gives back a challenge with which nothing was accepted. No other request can have spent it,
    /// because its mark has been there all the time.
    func forget(_ names: CounterNames, in slot: RedisSlot) {
        map[slot].flatMap { nodes[$0] }?.removeSpentMark(names)
    }

    private func run(
        _ call: CounterScript.Call, in slot: RedisSlot, _ detour: Detour,
        reply: @escaping (CounterVerdict) -> Void
    ) {
        guard let node = map[slot].flatMap({ nodes[$0] }) else { return reply(.unavailable) }
        run(call, in: slot, at: node, isAsking: false, detour, reply: reply)
    }

    private func run(
        _ call: CounterScript.Call, in slot: RedisSlot, at node: CounterNode, isAsking: Bool,
        _ detour: Detour, reply: @escaping (CounterVerdict) -> Void
    ) {
        node.run(call, isAsking: isAsking) { [weak self] outcome in
            if case .verdict(let verdict) = outcome { return reply(verdict) }
            // Nothing ran.
            guard let self, !isClosed else { return reply(.unavailable) }
            var detour = detour
            switch outcome {
            case .verdict: break
            case .redirected(let redirection):
                detour.hopCount += 1
                guard detour.hopCount <= Self.hopCountMax else { return reply(.unavailable) }
                follow(redirection, call, in: slot, detour, reply: reply)
            case .tryAgain:
                detour.pauseCount += 1
                retry(call, in: slot, detour, reply: reply)
            case .clusterDown:
                scout.ask(another: true)
                reply(.unavailable)
            }
        }
    }

    private func follow(
        _ redirection: RedisRedirection, _ call: CounterScript.Call, in slot: RedisSlot,
        _ detour: Detour, reply: @escaping (CounterVerdict) -> Void
    ) {
        var detour = detour
        switch redirection {
        case .moved(_, let endpoint):
            let node = move(slot, to: endpoint)
            scout.ask(another: false)
            run(call, in: slot, at: node, isAsking: false, detour, reply: reply)
        case .ask(_, let endpoint):
            // A master without slots has no place for a record, and so no incarnation yet.
            guard map.masters.contains(endpoint) else {
                scout.ask(another: false)
                detour.pauseCount += 1
                return retry(call, in: slot, detour, reply: reply)
            }
            run(call, in: slot, at: node(at: endpoint), isAsking: true, detour, reply: reply)
        }
    }

    /// Notes the meaning of an answer, for both masters, before any of them is asked again: the map
    /// that the scout brings afterwards may be unchanged.
    private func move(_ slot: RedisSlot, to endpoint: RedisEndpoint) -> CounterNode {
        let former = map[slot]
        map.move(slot, to: endpoint)
        let node = node(at: endpoint)
        // Also if the record stays: the slot may have come without counters that its last master
        // lost.
        node.moveRecord(to: record(of: endpoint))
        if let former, former != endpoint {
            nodes[former]?.moveRecord(to: record(of: former))
        }
        return node
    }

    private func retry(
        _ call: CounterScript.Call, in slot: RedisSlot, _ detour: Detour,
        reply: @escaping (CounterVerdict) -> Void
    ) {
        // At most as long as any call may take.
        guard Self.pause * detour.pauseCount <= connection.commandTimeout else {
            return reply(.unavailable)
        }
        guard pauses.count < connection.inFlightCountMax else { return reply(.full) }
        var name: ObjectIdentifier?
        let timer = Timer(loop: loop) { [weak self] in
            guard let self, let name else { return reply(.unavailable) }
            // The loop holds the timer while it fires.
            pauses[name] = nil
            run(call, in: slot, detour, reply: reply)
        }
        name = ObjectIdentifier(timer)
        pauses[ObjectIdentifier(timer)] = (timer, reply)
        timer.schedule(after: Self.pause)
    }

    // MARK: masters

    private func configuration(of endpoint: RedisEndpoint) -> RedisConfiguration {
        var configuration = connection
        configuration.endpoints = [endpoint]
        return configuration
    }

    private func node(at endpoint: RedisEndpoint) -> CounterNode {
        if let known = nodes[endpoint] { return known }
        let node = CounterNode(
            loop: loop, configuration: configuration, connection: configuration(of: endpoint),
            record: record(of: endpoint), news: news, succeedsAnother: hadMap)
        node.onStateChange = { [weak self, weak node] in
            guard let self, let node else { return }
            if !node.isConnected { lastFailure = node.lastFailure }
            onStateChange?()
        }
        node.onUnconfirmed = { [weak self] in self?.onUnconfirmed?($0) }
        node.onLoss = { [weak self] in self?.onLoss?() }
        node.onRefusal = { [weak self] in self?.onRefusal?($0) }
        nodes[endpoint] = node
        node.open()
        return node
    }

    /// The name of the record of a master's incarnation, in one of its slots. All gateways with the
    /// same map choose the same.
    private func record(of endpoint: RedisEndpoint) -> [UInt8] {
        let slot = map.slots(of: endpoint).min { $0.rank < $1.rank }
        return calls.layout.record(tag: slot?.tag)
    }

    private func take(_ next: RedisSlotMap) {
        guard !isClosed, next != map else { return }
        let last = map
        map = next
        for endpoint in next.masters {
            let isKnown = nodes[endpoint] != nil
            let node = node(at: endpoint)
            if isKnown, next.slots(of: endpoint) != last.slots(of: endpoint) {
                node.moveRecord(to: record(of: endpoint))
            }
        }
        for (endpoint, node) in nodes where !next.masters.contains(endpoint) {
            nodes[endpoint] = nil
            leaving[ObjectIdentifier(node)] = node
            node.onStateChange = nil
            node.onLeft = { [weak self, unowned node] in
                self?.leaving[ObjectIdentifier(node)] = nil
            }
            node.leave()
        }
        hadMap = true
        scout.update(connection, beside: next.masters)
        onStateChange?()
    }
}

/// Asks the servers of a cluster for the slots of each master.
private final class ClusterScout: RedisConnectionOwner {
    private var connection: RedisConnection?
    private let seeds: [RedisEndpoint]
    private var isAsking = false
    private var isWanted = false
    var onMap: ((RedisSlotMap) -> Void)?
    var onFailure: ((RedisFailure) -> Void)?

    init(loop: EventLoop, configuration: RedisConfiguration) {
        seeds = configuration.endpoints
        var configuration = configuration
        // At worst, a range and its servers for each slot.
        configuration.replyByteCountMax = 16 * 1024 * 1024
        connection = RedisConnection(loop: loop, configuration: configuration, owner: self)
    }

    func open() { connection?.open() }

    func close() { connection?.close() }

    func update(_ next: RedisConfiguration, beside masters: [RedisEndpoint]) {
        guard let connection else { return }
        let byteCountMax = connection.configuration.replyByteCountMax
        connection.configuration = next
        connection.configuration.replyByteCountMax = byteCountMax
        // The servers of the settings may all be gone one day.
        connection.configuration.endpoints = seeds + masters.filter { !seeds.contains($0) }
    }

    func ask(another: Bool) {
        guard let connection, connection.isReady else { return }
        if another { return connection.drop(because: .refusedByServer("its cluster has gaps")) }
        guard !isAsking else {
            isWanted = true
            return
        }
        isAsking = true
        isWanted = false
        connection.send(RedisCommand("CLUSTER", "SLOTS")) { [weak self] outcome in
            guard let self else { return }
            isAsking = false
            guard case .reply(let reply) = outcome else { return }
            if let map = RedisSlotMap(reply, askedAt: connection.endpoint), !map.masters.isEmpty {
                onMap?(map)
                if isWanted { ask(another: false) }
            } else if case .error(let line) = reply {
                connection.drop(because: .handshakeRefused("CLUSTER SLOTS: \(line.prefix(200))"))
            } else {
                connection.drop(because: .handshakeRefused("it is in no cluster"))
            }
        }
    }

    func handshakeStep(after reply: RedisReply?) -> RedisHandshakeStep { .finished }

    func connectionBecameReady() { ask(another: false) }

    func connectionFailed(_ failure: RedisFailure) { onFailure?(failure) }
}
