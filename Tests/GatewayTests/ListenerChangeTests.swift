import EventLoop
import Foundation
import GatewayTesting
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("A connection whose listener is another now")
struct ListenerChangeTests {}

extension ListenerChangeTests {
    /// Whoever spoke for the client is believed no more.
    private func endAtOnce(_ connection: HTTP1Connection) {
        connection.proxy = connection.peer
        connection.follow(ListenerChange(from: connection.listener, to: connection.listener))
    }

    private func letPass(_ duration: Duration, on worker: Worker) {
        worker.services.deadlines.advance(to: worker.services.loop.now + duration + .seconds(1))
    }

    @Test("ends with a tunnel that was being agreed upon", arguments: [true, false])
    func handshake(isAtOnce: Bool) throws {
        let stepped = try SteppedWorker { $0.routes[0].allowsWebSocket = true }
        let (worker, connection) = (stepped.worker, stepped.connection)
        try stepped.begin(
            fields: "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
        let leased = try #require(stepped.leased)
        if isAtOnce {
            endAtOnce(connection)
        } else {
            connection.follow(ListenerChange(from: connection.listener, to: nil))
            letPass(Gateway.farewell, on: worker)
        }
        #expect(connection.ending == .atOnce)
        #expect(connection.state == .exchanging)
        let agreed = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n"
        try stepped.relay(Array("HTTP/1.1 101 Switching Protocols\r\n\(agreed)".utf8))
        #expect(connection.exchange?.forwarder.state.tunnel.isOpen == true)
        // Beyond where the wheel may stand already.
        letPass(Gateway.farewell + .seconds(2), on: worker)
        #expect(stepped.takeAnswers().hasPrefix("HTTP/1.1 101 "))
        #expect(leased.state == .closed)
        // So much time has passed that lingering is over too.
        #expect(connection.state == .closed)
    }

    @Test("gets the answers that wait for it before it ends", arguments: ["", "GET / HTT"])
    func waitingAnswers(begun: String) throws {
        let stepped = try SteppedWorker { $0.limits.responseBufferByteCountMax = 1 << 20 }
        let connection = stepped.connection
        var count = 0
        try repeatWhile(stepped.waitingByteCount == 0) {
            stepped.send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
            connection.descriptorIsReadable()
            count += 1
        }
        if !begun.isEmpty {
            stepped.send(begun)
            connection.descriptorIsReadable()
        }
        endAtOnce(connection)
        #expect(connection.state == .finishing)
        #expect(connection.exchange == nil)
        var answers = ""
        try repeatWhile(stepped.waitingByteCount > 0) {
            answers += stepped.takeAnswers()
            connection.descriptorIsWritable()
        }
        answers += stepped.takeAnswers()
        #expect(answers.components(separatedBy: "HTTP/1.1 ").count - 1 == count)
        #expect(connection.state == .lingering)
    }

    @Test("has a head that was not whole judged by one configuration")
    func begunHead() throws {
        let stepped = try SteppedWorker()
        let (worker, connection) = (stepped.worker, stepped.connection)
        stepped.send("GET / HTT")
        connection.descriptorIsReadable()
        let site = try Site(
            settings: worker.services.site.settings, challengeKeys: [GatewayUnderTest.challengeKey],
            generation: 1)
        worker.receive(
            .reload(
                WorkerUpdate(
                    site: site, listeners: [BoundListener(context: connection.listener)],
                    reports: try Mailbox(countMax: 1))))
        #expect(connection.exchange?.site === site)
    }

    @Test("is counted against the limits of its listener though that is gone")
    func rateLimits() {
        var settings = ListenerSettings(bind: .tcp(host: "127.0.0.1", port: 1))
        settings.rateLimits = ["all"]
        let limits = [RateLimitTests.limit("all", by: .global)]
        let change = ListenerChange(
            from: ListenerContext(settings, rateLimits: limits), to: nil)
        #expect(change.context.rateLimits.count == 1)
    }
}
