import Attestation
import Bytes
import EventLoop
import KeyStore
import Redis

/// A single server, or the one that Sentinels name.
final class CounterServer: CounterMasters {
    private let calls: CounterCalls
    private let node: CounterNode
    private let sentinel: RedisSentinel?

    var onStateChange: (() -> Void)?
    var onLoss: (() -> Void)? {
        get { node.onLoss }
        set { node.onLoss = newValue }
    }
    var onUnconfirmed: ((Int) -> Void)? {
        get { node.onUnconfirmed }
        set { node.onUnconfirmed = newValue }
    }
    var onRefusal: ((String) -> Void)? {
        get { node.onRefusal }
        set { node.onRefusal = newValue }
    }

    init(
        loop: EventLoop, configuration: RedisCounterConfiguration, calls: CounterCalls,
        news: IncarnationNews
    ) {
        self.calls = calls
        sentinel = configuration.sentinel.map { RedisSentinel(loop: loop, configuration: $0) }
        node = CounterNode(
            loop: loop, configuration: configuration, connection: configuration.connection,
            record: calls.layout.record(tag: nil), news: news, locator: sentinel)
        node.onStateChange = { [weak self] in
            guard let self else { return }
            if isConnected { sentinel?.confirm() }
            onStateChange?()
        }
        sentinel?.onSwitch = { [weak node] endpoint in
            guard let node, node.endpoint != endpoint else { return }
            node.reconnect(because: .refusedByServer("Sentinels name \(endpoint) the master"))
        }
    }

    var isConnected: Bool { node.isConnected }
    var isWhole: Bool { node.isConnected }
    var refusal: String? { node.refusal }
    var lastFailure: RedisFailure? { node.lastFailure }

    func open() { node.open() }

    func check() { node.checkIncarnation() }

    func update(_ next: RedisCounterConfiguration) {
        node.update(next.connection)
        if let next = next.sentinel { sentinel?.update(next) }
    }

    func close() {
        sentinel?.close()
        node.close()
    }

    func node(keyID: KeyID?, challenge: Bytes16) -> CounterNode? { node }

    func moment(keyID: KeyID?, challenge: Bytes16) -> StoreMoment? { node.moment }

    func advance(_ request: CounterAdvance, reply: @escaping (CounterVerdict) -> Void) {
        run(calls.advance(request, .whole), reply: reply)
    }

    func run(
        _ call: CounterScript.Call, by name: Bytes16, reply: @escaping (CounterVerdict) -> Void
    ) {
        run(call, reply: reply)
    }

    private func run(_ call: CounterScript.Call, reply: @escaping (CounterVerdict) -> Void) {
        node.run(call) { outcome in
            // A single server never redirects.
            if case .verdict(let verdict) = outcome { reply(verdict) } else { reply(.unknown) }
        }
    }

    func ask(_ command: RedisCommand, by name: Bytes16, reply: @escaping (RedisOutcome) -> Void) {
        node.ask(command, reply: reply)
    }
}
