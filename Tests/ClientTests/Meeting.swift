import Foundation
import FoundationNetworking
import SallyportClient

/// Where so many tasks wait for each other.
actor Meeting {
    private let count: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var isOver = false

    init(of count: Int) { self.count = count }

    /// Returns when all are here. Who comes later does not wait.
    func join() async {
        guard !isOver else { return }
        await withCheckedContinuation { continuation in
            waiting.append(continuation)
            guard waiting.count == count else { return }
            isOver = true
            for task in waiting { task.resume() }
            waiting.removeAll()
        }
    }
}

/// A network on which the first requests to a path are all sent before any is answered.
struct MeetingNetwork: Transport {
    let network: SimulatedNetwork
    let path: String
    let meeting: Meeting

    func send(
        _ request: URLRequest, _ body: RequestBody
    ) async throws -> (Data, HTTPURLResponse) {
        if request.url?.path == path { await meeting.join() }
        return try await network.send(request, body)
    }
}

/// A device whose first signatures are all asked for before any is given.
struct MeetingService: AttestService {
    let service: SimulatedService
    let meeting: Meeting

    var isSupported: Bool { service.isSupported }

    func generateKey() async throws -> String { try await service.generateKey() }

    func attestKey(_ keyID: String, clientDataHash: Data) async throws -> Data {
        try await service.attestKey(keyID, clientDataHash: clientDataHash)
    }

    func generateAssertion(_ keyID: String, clientDataHash: Data) async throws -> Data {
        await meeting.join()
        return try await service.generateAssertion(keyID, clientDataHash: clientDataHash)
    }
}
