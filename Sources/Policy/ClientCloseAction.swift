/// The treatment of a request whose client closes the connection, or its sending side, before the
/// answer is complete.
public enum ClientCloseAction: String, Hashable, Sendable, CaseIterable {
    /// The request ends, and its upstream is told.
    case cancel
    /// The request is served to its end, for clients that close their sending side and still read.
    case finish
}
