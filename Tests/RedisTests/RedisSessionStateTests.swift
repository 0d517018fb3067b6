import EventLoop
import Redis
import Testing

@Suite("A Redis session")
struct RedisSessionStateTests {}

extension RedisSessionStateTests {
    private func session(inFlightCountMax: Int = 2) -> RedisSessionState {
        RedisSessionState(backOff: BackOff(), inFlightCountMax: inFlightCountMax)
    }

    @Test("connects, shakes hands, and only then admits commands, up to its bound")
    func life() {
        var state = session()
        #expect(!state.admits(inFlightCount: 0))
        #expect(state.open() == .connect)
        #expect(!state.admits(inFlightCount: 0))
        #expect(state.connected() == .beginHandshake)
        #expect(!state.admits(inFlightCount: 0))
        #expect(state.handshakeFinished() == .announceReady)
        #expect(state.admits(inFlightCount: 1))
        #expect(!state.admits(inFlightCount: 2))
        #expect(state.retire() == .announceUnready)
        #expect(!state.admits(inFlightCount: 0))
        #expect(state.close() == .finish)
        #expect(state.close() == .nothing)
    }

    @Test("comes back after each failure, later and later, and at once after a success")
    func reconnects() {
        var state = session()
        #expect(state.open() == .connect)
        var delays: [Duration] = []
        for _ in 0..<8 {
            guard case .drop(let delay) = state.failed(jitter: 1) else { break }
            delays.append(delay)
            #expect(state.failed(jitter: 1) == .nothing)
            #expect(state.backOffEnded() == .connect)
        }
        #expect(delays.map { $0 / .milliseconds(1) } == [50, 100, 200, 400, 800, 1600, 2000, 2000])
        #expect(state.connected() == .beginHandshake)
        #expect(state.handshakeFinished() == .announceReady)
        #expect(state.failed(jitter: 0) == .drop(reconnectAfter: .milliseconds(25)))
    }

    @Test("asks for nothing when an event comes late")
    func lateEvents() {
        var state = session()
        #expect(state.connected() == .nothing)
        #expect(state.handshakeFinished() == .nothing)
        #expect(state.failed(jitter: 0) == .nothing)
        #expect(state.backOffEnded() == .nothing)
        #expect(state.retire() == .nothing)
        #expect(state.open() == .connect)
        #expect(state.open() == .nothing)
        #expect(state.close() == .finish)
        #expect(state.open() == .nothing)
        #expect(state.connected() == .nothing)
        #expect(state.failed(jitter: 0) == .nothing)
        #expect(state.backOffEnded() == .nothing)
    }

    @Test("keeps its waits within bounds whatever the numbers")
    func bounds() {
        let backOff = BackOff()
        for count in [Int.min, -1, 0, 1, 5, 100, Int.max] {
            for jitter in [-1, 0, 0.3, 1, 7, Double.infinity] {
                let delay = backOff.delay(failureCount: count, jitter: jitter)
                #expect(delay >= backOff.shortest / 2 && delay <= backOff.longest)
            }
        }
    }
}

@Suite("The commands in flight")
struct RedisPipelineTests {}

extension RedisPipelineTests {
    @Test("are answered in the order they were sent, however many")
    func order() {
        var pipeline = RedisPipeline<Int>()
        var next = 0
        for round in 0..<50 {
            for index in 0..<40 {
                pipeline.queue(byteCount: 10, deadline: UInt64(round * 40 + index), handler: next)
                next += 1
            }
            pipeline.wrote(byteCount: 400)
            for _ in 0..<(round == 49 ? pipeline.count : 35) {
                let expected = next - pipeline.count
                #expect(pipeline.oldestDeadline == UInt64(expected))
                #expect(pipeline.takeAnswered() == expected)
            }
        }
        #expect(pipeline.isEmpty)
        #expect(pipeline.oldestDeadline == nil)
        #expect(pipeline.takeAnswered() == nil)
    }

    @Test("are unknown once sent as a whole, unavailable before")
    func outcomes() {
        var pipeline = RedisPipeline<String>()
        pipeline.queue(byteCount: 10, deadline: 1, handler: "sent")
        pipeline.queue(byteCount: 10, deadline: 1, handler: "half sent")
        pipeline.queue(byteCount: 10, deadline: 1, handler: "unsent")
        #expect(pipeline.hasUnwrittenBytes)
        pipeline.wrote(byteCount: 19)
        let settled = pipeline.takeAll()
        #expect(settled.map(\.handler) == ["sent", "half sent", "unsent"])
        #expect(settled.map(\.outcome) == [.unknown, .unavailable, .unavailable])
        #expect(pipeline.isEmpty && !pipeline.hasUnwrittenBytes)
    }

    @Test("take no reply for a command that was not sent")
    func earlyReply() {
        var pipeline = RedisPipeline<Int>()
        pipeline.queue(byteCount: 10, deadline: 1, handler: 1)
        pipeline.wrote(byteCount: 9)
        #expect(pipeline.takeAnswered() == nil)
        pipeline.wrote(byteCount: 1)
        #expect(pipeline.takeAnswered() == 1)
    }
}
