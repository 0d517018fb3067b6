import Testing

@testable import Gateway

@Suite("The life of a worker")
struct WorkerLifeTests {}

extension WorkerLifeTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test(
        "a worker that has ended is freed, with connections, pools and exchanges",
        arguments: [0, 1])
    func freed(requestsUnderWay: Int) throws {
        weak var worker: Worker?
        weak var services: WorkerServices?
        weak var leased: UpstreamConnection?
        do {
            let stepped = try SteppedWorker()
            worker = stepped.worker
            services = worker?.services
            try stepped.begin()
            leased = stepped.leased
            try stepped.relay(Array(Self.answer.utf8))
            #expect(stepped.takeAnswers().hasSuffix("ok"))
            if requestsUnderWay > 0 { try stepped.begin() }
            #expect(worker != nil && services != nil && leased != nil)
        }
        #expect(worker == nil && services == nil && leased == nil)
    }
}
