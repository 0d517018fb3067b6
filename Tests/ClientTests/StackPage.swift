import Alamofire
import Apollo
import Foundation
import FoundationNetworking
import GRPCCore
import GatewayTesting
import OpenAPIRuntime
import SallyportClient
import SallyportOpenAPI
import StackInterceptors
import Testing

// What the blocks of docs/client/stacks.md name, beside the stand-ins for the packages.
private struct URLSessionTransport {
    struct Configuration { let session: URLSession }
    let configuration: Configuration
}

private struct Client {
    let serverURL: URL
    let transport: URLSessionTransport
    let middlewares: [any ClientMiddleware]
}

private struct Channel: ClientTransport {}

/// A message of SwiftProtobuf.
private protocol Message {
    func serializedBytes() throws -> [UInt8]
}

@Suite("The page about HTTP stacks")
struct StackPage {}

extension StackPage {
    @Test(
        "has only blocks that are compiled here, or with the client for Android",
        arguments: [
            ("swift", "Tests/ClientTests/StackPage.swift"),
            ("java", "clients/android/tests/dev/sallyport/client/StackPage.java"),
        ])
    func blocks(language: String, source: String) throws {
        let page = "docs/client/stacks.md"
        let code = Self.lines(of: try Repository.text(of: source))
        let blocks = try ClientPage.blocks(of: page, in: language)
        #expect(blocks.count >= 2)
        for block in blocks {
            let wanted = Self.lines(of: block)
            let isThere = code.indices.contains { code[$0...].starts(with: wanted) }
            #expect(isThere, "\(source) does not have \(block)")
        }
        let count = try Repository.text(of: page).components(separatedBy: "```").count / 2
        let known = try ["swift", "java"].map { try ClientPage.blocks(of: page, in: $0).count }
        #expect(known.reduce(0, +) == count)
    }

    /// The lines without their indentation.
    private static func lines(of text: String) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test("its blocks for Swift do what they say", .enabled(if: BuiltProgram.isBuilt))
    func blocks() async throws {
        let site = try ClientSite()
        let request = try site.request()
        let client = site.client()
        let stack = site.network
        let (data, _) = try await client.send(request) { request, body in
            let (data, response) = try await stack.send(request, body)
            return .init(data, response, refusal: Refusal(data, response))
        }
        #expect(data == Data("hello\n".utf8))
        try await alamofire(client, request)
        let interceptors: [any HTTPInterceptor] = [
            ResponseCodeInterceptor(), ApolloInterceptor(client),
        ]
        let last = try #require(interceptors.last)
        let answer = try await last.intercept(request: request) {
            try await StackSender(network: stack).apollo($0)
        }
        #expect(try await answer.read() == data)
        #expect(grpc(client, site.configuration.gateway) == 1)
        #expect(openAPI(site.configuration.gateway) == 1)
    }

    private func alamofire(_ client: AppAttestClient, _ request: URLRequest) async throws {
        let interceptor = AlamofireInterceptor(client)
        let session = Session(
            interceptor: interceptor, redirectHandler: Redirector.doNotFollow,
            eventMonitors: [interceptor])
        let data = try await session.request(request).validate().serializingData().value
        #expect(data == Data("hello\n".utf8))
    }

    private func grpc(_ client: AppAttestClient, _ server: URL) -> Int {
        let transport = Channel()
        let interceptor = GRPCInterceptor(client, gateway: server) { message in
            guard let message = message as? any Message else {
                throw ClientError.invalidRequest("no message of SwiftProtobuf")
            }
            return try message.serializedBytes()
        }
        let grpc = GRPCClient(transport: transport, interceptors: [interceptor])
        return grpc.interceptors.count
    }

    @Test("its block finds a refusal that a generated client has wrapped")
    func wrapped() throws {
        let url = try #require(URL(string: "https://gateway.example/api/x"))
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 401, httpVersion: nil,
                headerFields: ["WWW-Authenticate": "AppAttest error=\"challenge_expired\""]))
        let refused = try #require(Refusal(Data(), response))
        let error = OpenAPIRuntime.ClientError(
            operationID: "transfer", operationInput: 0, causeDescription: "Middleware threw",
            underlyingError: SallyportClient.ClientError.refused(refused))
        #expect(refusal(in: error)?.code == "challenge_expired")
        #expect(refusal(in: URLError(.timedOut)) == nil)
    }

    func refusal(in error: any Error) -> Refusal? {
        let cause = (error as? OpenAPIRuntime.ClientError)?.underlyingError
        guard case SallyportClient.ClientError.refused(let refusal)? = cause else { return nil }
        return refusal
    }

    private func openAPI(_ server: URL) -> Int {
        let client = AppAttestClient(Configuration(gateway: server))
        let session = SessionTransport().session
        let transport = URLSessionTransport(configuration: .init(session: session))
        let middleware = AttestMiddleware(client) { operationID in
            operationID == "getFeed" ? .sessionToken : .assertion
        }
        let api = Client(serverURL: server, transport: transport, middlewares: [middleware])
        return api.middlewares.count
    }
}
