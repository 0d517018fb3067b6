import Bytes
import HTTP
import Judgement
import Telemetry
import Testing

@testable import Gateway

@Suite("Meters")
struct MeterTests {}

extension MeterTests {
    @Test("a route counts by decision, reason and status class")
    func route() {
        let meter = RouteMeter()
        meter.count(decision: .verified, reason: .ok, status: 200, nanoseconds: 1)
        meter.count(decision: .verified, reason: .ok, status: 304, nanoseconds: 1)
        meter.count(decision: .refused, reason: .internalFailure, status: 500, nanoseconds: 1)
        meter.count(decision: .undecided, reason: .clientClosed, status: 0, nanoseconds: 1)
        meter.count(decision: .passed, reason: .ok, status: .max, nanoseconds: 1)
        #expect(meter.count(.verified, .ok) == 2)
        #expect(meter.count(.refused, .internalFailure) == 1)
        #expect(meter.count(.refused, .ok) == 0)
        #expect(meter.count(statusClass: 2) == 1)
        #expect(meter.count(statusClass: 3) == 1)
        #expect(meter.count(statusClass: 5) == 1)
        #expect(meter.count(statusClass: 9) == 1)
    }

    @Test("a histogram's buckets and counts agree")
    func histogram() {
        let meter = RouteMeter()
        for nanoseconds in [0, 500_000, 500_001, UInt64.max] {
            meter.count(decision: .passed, reason: .ok, status: 200, nanoseconds: nanoseconds)
        }
        var snapshot = HistogramSnapshot(.requestDuration)
        snapshot.add(meter.duration)
        #expect(snapshot.count == 4)
        #expect(snapshot.bucketCounts.first == 2)
        #expect(snapshot.bucketCounts.last == 1)
    }

    @Test("the phases follow one another to the record, each with a word of its own")
    func phases() {
        func way(of kind: ExchangeKind) -> [Phase] {
            var way = [Phase.readHead]
            while let last = way.last, last != .recordAccess { way.append(last.next(of: kind)) }
            return way
        }
        #expect(Phase.recordAccess.next(of: .route) == .recordAccess)
        #expect(Set(Phase.allCases.map(\.name)).count == Phase.allCases.count)
        #expect(way(of: .route) == Phase.allCases.filter { $0 != .answerLocally })
        for kind in [ExchangeKind.endpoint, .admin] {
            #expect(
                way(of: kind) == [
                    .readHead, .matchRoute, .decidePolicy, .digestBody, .answerLocally,
                    .recordAccess,
                ])
        }
    }
}

@Suite("Refusals of parsers")
struct ParserRefusalTests {}

extension ParserRefusalTests {
    @Test("what a parser refuses keeps its status")
    func parserStatuses() {
        for status in [400, 414, 417, 431, 501, 505] as [UInt16] {
            let reason = HTTPRefusal(status: status, reason: .targetInvalid).gatewayReason
            #expect(reason.status == status)
        }
    }
}
