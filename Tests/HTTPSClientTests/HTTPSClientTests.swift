import Bytes
import EventLoop
import GatewayTesting
import HTTPSClient
import Testing

@Suite("A client of HTTPS servers", .enabled(if: NginxServer.isInstalled), .timeLimit(.minutes(30)))
struct HTTPSClientTests {
    private let bench: ClientBench

    init() throws { bench = try ClientBench() }
}

extension HTTPSClientTests {
    private static let echo = """
        location = /hello { add_header X-Two "a b"; return 200 "hello"; }
        location = /status { return 429; add_header Retry-After 17 always; }
        location = /dated {
            return 503; add_header Retry-After "Fri, 01 Jan 2100 00:00:00 GMT" always;
        }
        location = /passed {
            return 503; add_header Retry-After "Sat, 01 Jan 2000 00:00:00 GMT" always;
        }
        location = /negative { return 503; add_header Retry-After -5 always; }
        # Reads the body, as the servers do that are meant.
        location = /request {
            proxy_pass https://127.0.0.1:$server_port/seen?as=$server_protocol&expect=$http_expect;
        }
        location = /seen { return 200 "$request_method $http_x_name $arg_expect $arg_as"; }
        location = /redirect { return 302 /hello; }
        """

    @Test("gets whole answers, by HTTP/2 where the server has it", arguments: [true, false])
    func answers(isHTTP2: Bool) throws {
        let server = try bench.nginx(Self.echo, isHTTP2: isHTTP2)
        let client = try bench.client()
        let answer = try bench.outcome(client, .get(server.port, "/hello")).get()
        #expect(answer.status == 200)
        #expect(answer.body == Array("hello".utf8))
        #expect(answer.field("x-two") == "a b")
        #expect(answer.isHTTP2 == isHTTP2)
        #expect(answer.retryAfter == nil)
        var request = HTTPSRequest.post(server.port, "/request", [1, 2, 3])
        request.fields = [HTTPSField("X-Name", "value")]
        let echoed = try bench.outcome(client, request).get()
        let version = isHTTP2 ? "HTTP/2.0" : "HTTP/1.1"
        #expect(String(decoding: echoed.body, as: UTF8.self) == "POST value  \(version)")
        let moved = try bench.outcome(client, .get(server.port, "/redirect")).get()
        #expect(moved.status == 302)
        #expect(client.inFlightCount == 0)
    }

    @Test("tells how long a server wants to be left alone, in seconds or by a date")
    func retryAfter() throws {
        let server = try bench.nginx(Self.echo)
        let client = try bench.client()
        let throttled = try bench.outcome(client, .get(server.port, "/status")).get()
        #expect(throttled.status == 429)
        #expect(throttled.retryAfter == .seconds(17))
        let later = try bench.outcome(client, .get(server.port, "/dated")).get()
        #expect(try #require(later.retryAfter) > .seconds(365 * 24 * 3600))
        for path in ["/passed", "/negative"] {
            let now = try bench.outcome(client, .get(server.port, path)).get()
            #expect(now.retryAfter == .zero)
        }
    }
}
