import Attestation
import Background
import EventLoop
import Judgement
import KeyStore
import Settings

/// One worker's access lines and spans, gathered during a turn of its loop and handed over at once
/// to be written or exported.
final class WorkerLog {
    let spans: WorkerSpans
    private let writers: LogWriters
    private let refusals: RefusalRing
    private var line = AccessLine()
    private var plainLine = PlainAccessLine()
    private let turnEnd: TurnEndHook
    private var repeated = RepeatedEvents()
    private let loop: EventLoop

    init(writers: LogWriters, spans: SpanQueue, refusals: RefusalRing, loop: EventLoop) {
        self.writers = writers
        self.spans = WorkerSpans(queue: spans, loop: loop)
        self.refusals = refusals
        self.loop = loop
        turnEnd = TurnEndHook(loop: loop)
        turnEnd.setBody { [unowned self] in flush() }
    }

    func event(level: StaticString = "warning", _ name: StaticString, _ message: String) {
        writers.event(level: level, name, message)
    }

    /// Logs an event like ``event(level:_:_:)``, but one that strangers can cause any number of
    /// times: the same words are logged once a minute, with the number of times that they were left
    /// out.
    func repeatedEvent(_ name: StaticString, _ message: String) {
        writers.event(level: "warning", name, repeated.turn(name, message, at: loop.now))
    }

    /// Ends the turn: hands the gathered lines to the log's thread.
    func flush() {
        if line.byteCount > 0 {
            writers.access?.post(line.lines)
            line.clear()
        }
        if plainLine.byteCount > 0 {
            writers.access?.post(plainLine.lines)
            plainLine.clear()
        }
        spans.flush()
    }

    /// Notes an exchange that has ended: writes a line in the configured form, and a record for the
    /// status page if the exchange had a fault.
    func access(_ exchange: Exchange, _ verdict: borrowing Verdict, nanoseconds: UInt64) {
        if RefusalRecord.isOwed(exchange) {
            refusals.add(RefusalRecord(exchange, verdict, nanoseconds: nanoseconds))
        }
        guard writers.access != nil, !exchange.client.listener.isAdmin, !exchange.recorder.isLeftOut
        else {
            return
        }
        let format = exchange.site.settings.log.format
        if format == .json {
            line.append(exchange, verdict, nanoseconds: nanoseconds)
        } else {
            plainLine.append(exchange, verdict, format, nanoseconds: nanoseconds)
        }
        if line.byteCount + plainLine.byteCount > Self.batchByteCountMax {
            flush()
        } else {
            turnEnd.schedule()
        }
    }

    static let batchByteCountMax = 64 * 1024
}

extension Site {
    /// The name that stands for a key in the text of an event.
    func logName(of keyID: KeyID) -> String {
        switch settings.log.keys {
        case .pseudonym: "key \(pseudonyms.pseudonym(of: keyID))"
        case .prefix: "key \(keyID.logPrefix)"
        case .off: "a key"
        }
    }
}
