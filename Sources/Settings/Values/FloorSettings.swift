/// Where counters are kept, and how they outlive the process.
public struct CounterKeeping: Hashable, Sendable {
    public var store = CounterSettings.embedded
    public var floors = FloorSettings()

    public init(store: CounterSettings = .embedded, floors: FloorSettings = FloorSettings()) {
        self.store = store
        self.floors = floors
    }
}

/// How counters that were accepted and are not in the registry yet outlive the process.
public struct FloorSettings: Hashable, Sendable {
    /// The directory of their file in memory.
    public enum Directory: Hashable, Sendable {
        /// The unit's own directory if there is one, else the system's for shared memory.
        case standard
        case path(String)
        /// No file in memory.
        case off
    }

    /// The treatment of requests while the disk has not taken accepted counters for two seconds.
    public enum WhenUnkept: String, CaseIterable, Hashable, Sendable {
        case serve
        /// Assertions get 503.
        case refuse
    }

    public var directory = Directory.standard
    public var whenUnkept = WhenUnkept.serve

    public init() {}
}
