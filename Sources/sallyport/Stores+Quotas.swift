import Bytes
import Gateway
import KeyStore
import SQLiteKeyStore

extension Stores {
    /// The time for which the end of the gateway waits for the file of the counts of quotas, as
    /// for a log: far more than the changes of a second need.
    static let quotaPatience = Duration.seconds(10)

    /// The events about the counts of quotas that a process before has left.
    static func news(of opening: QuotaOpening) -> [StoreLife.News] {
        switch opening {
        case .none: return []
        case .lost(let reason):
            return [
                StoreLife.News(
                    level: "error", event: "quotas_unread",
                    "the counts of quotas begin at 0 in the present periods: \(reason)")
            ]
        case .resumed(let countCount, let isClean, let leftOutCount):
            let counts = String(counting: countCount, "count")
            guard leftOutCount == 0 else {
                return [
                    StoreLife.News(
                        level: "error", event: "quotas_unread",
                        "there is no room for \(leftOutCount) counts of quotas beside \(counts)")
                ]
            }
            guard isClean else {
                return [
                    StoreLife.News(
                        level: "warning", event: "quotas_resumed",
                        "\(counts) of quotas go on after a kill, with what they took in the last"
                            + " second charged once more")
                ]
            }
            return countCount == 0
                ? []
                : [
                    StoreLife.News(
                        level: "info", event: "quotas_resumed",
                        "\(counts) of quotas go on from the last stop")
                ]
        }
    }

    /// The event about counts that the end of the gateway could not write.
    static func unkept(_ trouble: String) -> StoreLife.News {
        StoreLife.News(
            level: "error", event: "quotas_unkept",
            "the counts of quotas are not kept for the next start: \(trouble)")
    }
}
