/// What the event log says of the stores: something that was found as they were opened, and
/// something that is found as they are closed.
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
    /// Called once, after the last request, with the log to tell what is found.
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
