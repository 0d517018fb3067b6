import Policy
import Settings
import Testing

@testable import Gateway

@Suite("The pace of a body that goes on as it comes")
struct StreamPaceTests {}

extension StreamPaceTests {
    private func patience(own: Duration?) throws -> UInt64 {
        let stepped = try SteppedWorker {
            $0.routes[0].streamsBody = true
            $0.routes[0].overrides.requestBodyTimeout = own
            $0.timeouts.requestBody = .seconds(300)
        }
        stepped.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab")
        stepped.connection.descriptorIsReadable()
        let exchange = try #require(stepped.connection.exchange)
        return try #require(exchange.intake.bodyPatience) / 1_000_000_000
    }

    @Test("counts after the grace, or after the pause that its route grants")
    func grace() throws {
        #expect(try patience(own: nil) <= 20)
        #expect(try patience(own: .seconds(3600)) > 3000)
        // Which may be shorter too.
        #expect(try patience(own: .seconds(5)) <= 5)
    }
}
