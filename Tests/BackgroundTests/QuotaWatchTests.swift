import Background
import EventLoop
import KeyStore
import Testing

@Suite("The watch over the counts of quotas")
struct QuotaWatchTests {}

extension QuotaWatchTests {
    @Test("tells of a file that cannot be written, of a disk that does not answer, and of the end")
    func events() {
        let events = RecordedEvents()
        let quotas = EmbeddedQuotas()
        let watch = QuotaWatch(quotas, log: events)
        func look(after seconds: Int) -> [String] {
            watch.look(at: .now() + .seconds(seconds))
            return events.take()
        }
        #expect(look(after: 0).isEmpty)
        quotas.fileState.writingEnded(StoreError("the disk is full"))
        let full = look(after: 1)
        #expect(full.count == 1 && full[0].hasPrefix("quotas_unkept: "))
        #expect(full[0].hasSuffix("would lose them: the disk is full"))
        #expect(look(after: 2).isEmpty)
        quotas.fileState.writingEnded(nil)
        #expect(look(after: 3) == ["quotas_kept: the counts of quotas reach their file again"])
        quotas.fileState.writingBegins()
        #expect(look(after: 4).isEmpty)
        let stuck = look(after: 60)
        #expect(stuck.count == 1 && stuck[0].contains("the disk has not answered for "))
        QuotaWatch(nil, log: events).look(at: .distantFuture)
        #expect(events.take().isEmpty)
    }
}
