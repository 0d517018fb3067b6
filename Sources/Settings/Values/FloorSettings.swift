/// The store of counters, and the settings by which accepted counters outlive the process.
public struct CounterKeeping: Hashable, Sendable {
    public var store = CounterSettings.embedded
    public var floors = FloorSettings()

    public init(store: CounterSettings = .embedded, floors: FloorSettings = FloorSettings()) {
        self.store = store
        self.floors = floors
    }
}

/// The settings by which accepted counters that the registry does not have yet outlive the process.
public struct FloorSettings: Hashable, Sendable {
    /// The directory of their file in memory.
    public enum Directory: Hashable, Sendable {
        /// The unit's own directory if there is one, else the system's for shared memory.
        case standard
        case path(String)
        /// No file in memory.
        case off
    }

    /// The treatment of requests after the disk has not taken accepted counters for two seconds.
    public enum WhenUnkept: String, CaseIterable, Hashable, Sendable {
        case serve
        /// Assertions get 503.
        case refuse
    }

    public var directory = Directory.standard
    public var whenUnkept = WhenUnkept.serve

    public init() {}
}
