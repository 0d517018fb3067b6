/// The event log's messages about the stores: those of opening them and those of closing them.
public struct StoreLife {
    /// A line of the event log.
    public struct News: Sendable {
        public let level: StaticString
        public let event: StaticString
        public let message: String

        public init(level: StaticString, event: StaticString, _ message: String) {
            (self.level, self.event, self.message) = (level, event, message)
        }
    }

    let opening: [News]
    /// Called once, after the last request. Calls `tell` with each finding.
    let close: (_ tell: (News) -> Void) -> Void

    public init(opening: [News] = [], close: @escaping (_ tell: (News) -> Void) -> Void) {
        (self.opening, self.close) = (opening, close)
    }
}

extension Gateway {
    func announce(_ news: StoreLife.News) {
        logs.event(level: news.level, news.event, news.message)
    }
}
