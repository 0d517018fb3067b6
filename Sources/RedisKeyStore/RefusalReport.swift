import Redis

/// Reports the refusals of a master whose connection stays. A script's complaint about a right does
/// not name it, so the right is found out first; meanwhile the same complaint comes with every
/// request.
final class RefusalReport {
    /// Called with the master's address and its words.
    var onRefusal: ((String) -> Void)?
    private var inquiry: RightsInquiry?

    /// `record`: the name of the master's record.
    func tell(
        _ line: String, on connection: RedisConnection, record: [UInt8], isCluster: Bool
    ) {
        guard RightsInquiry.isNeeded(for: line) else { return tell(line, about: connection) }
        guard inquiry == nil else { return }
        inquiry = RightsInquiry(about: line, record: record, isCluster: isCluster)
        goOn(after: nil, on: connection)
    }

    private func tell(_ words: String, about connection: RedisConnection) {
        onRefusal?("\(connection.subject): the server refuses: \(words.prefix(200))")
    }

    private func goOn(after reply: RedisReply?, on connection: RedisConnection) {
        switch inquiry?.step(after: reply) {
        case .ask(let command):
            connection.send(command) { [self, unowned connection] outcome in
                guard case .reply(let reply) = outcome else {
                    inquiry = nil
                    return
                }
                goOn(after: reply, on: connection)
            }
        case .found(let words):
            inquiry = nil
            tell(words, about: connection)
        case nil: break
        }
    }
}
