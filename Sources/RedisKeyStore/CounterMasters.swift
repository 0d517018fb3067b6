import Attestation
import Bytes
import KeyStore
import Redis

/// The masters that keep the counters, as one worker sees them: a single server, or the masters of
/// a cluster. Each `reply` is called once, perhaps before the call returns.
protocol CounterMasters: AnyObject {
    /// Called when ``isConnected``, ``refusal`` or an incarnation has changed, and for each failed
    /// attempt.
    var onStateChange: (() -> Void)? { get set }
    /// Called when a master may have lost what was accepted there.
    var onLoss: (() -> Void)? { get set }
    /// Called with the number of accepted requests that too few replicas had in time.
    var onUnconfirmed: ((Int) -> Void)? { get set }
    /// Called with a master's words when it refuses a command.
    var onRefusal: ((String) -> Void)? { get set }

    /// True if at least one master can be asked.
    var isConnected: Bool { get }
    /// True if every key's master can be asked.
    var isWhole: Bool { get }
    /// The words of a master that refuses every command, if all connected masters do; otherwise
    /// nil.
    var refusal: String? { get }
    /// The reason why there is no connection, or was none before the present one.
    var lastFailure: RedisFailure? { get }

    func open()
    /// Looks, once in an interval, at what may have changed without notice.
    func check()
    func update(_ next: RedisCounterConfiguration)
    /// Settles what is in flight and lets go of the connections for good.
    func close()

    /// The master that will keep a challenge with this id, for this key or for any. Nil if none is
    /// known.
    func node(keyID: KeyID?, challenge: Bytes16) -> CounterNode?

    /// The moment of that master.
    func moment(keyID: KeyID?, challenge: Bytes16) -> StoreMoment?

    /// Accepts the counter and spends the challenge.
    func advance(_ request: CounterAdvance, reply: @escaping (CounterVerdict) -> Void)

    /// Runs a call on the master of the names that have the tag of `name`.
    func run(
        _ call: CounterScript.Call, by name: Bytes16, reply: @escaping (CounterVerdict) -> Void)

    /// Asks that master something about no counter. The command's names all have that tag.
    func ask(_ command: RedisCommand, by name: Bytes16, reply: @escaping (RedisOutcome) -> Void)
}
