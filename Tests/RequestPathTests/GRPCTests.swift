import Foundation
import GatewayTesting
import JSON
import Testing

private let isGRPCInstalled =
    BuiltProgram.isBuilt
    && PythonInterpreter.debian.has("grpc")

/// Google's own gRPC client and server, with the built gateway between them.
@Suite("gRPC", .enabled(if: isGRPCInstalled, "python3-grpcio is not installed"))
struct GRPCTests {
    /// Methods that take and give bytes as they are: no code has to be generated.
    private static let server = """
        import grpc
        from concurrent import futures

        def unary(request, context):
            metadata = dict(context.invocation_metadata())
            if request == b"fail":
                context.set_trailing_metadata((("x-why", "because"),))
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no such thing")
            if request == b"result":
                return metadata.get("x-attest-result", "none").encode()
            if request == b"wait":
                stopped = __import__("threading").Event()
                context.add_callback(stopped.set)
                stopped.wait(30)
                print("stopped", flush=True)
            context.set_trailing_metadata((("x-count", str(len(request))),))
            return request

        def many(request, context):
            for index in range(int(request)):
                yield b"%d" % index

        def sum_up(requests, context):
            return b"%d" % sum(len(request) for request in requests)

        def talk(requests, context):
            context.send_initial_metadata((("x-early", "1"),))
            for request in requests:
                yield request.upper()

        handlers = {
            "Unary": grpc.unary_unary_rpc_method_handler(unary),
            "Many": grpc.unary_stream_rpc_method_handler(many),
            "Sum": grpc.stream_unary_rpc_method_handler(sum_up),
            "Talk": grpc.stream_stream_rpc_method_handler(talk),
        }
        server = grpc.server(
            futures.ThreadPoolExecutor(110),
            options=[("grpc.max_receive_message_length", 64 << 20)])
        server.add_generic_rpc_handlers((
            grpc.method_handlers_generic_handler("test.Test", handlers),))
        print("port", server.add_insecure_port("127.0.0.1:0"), flush=True)
        server.start()
        server.wait_for_termination()
        """

    private static let client = """
        import grpc, queue, sys
        from concurrent import futures
        channel = grpc.insecure_channel("127.0.0.1:" + sys.argv[1], options=[
            ("grpc.max_receive_message_length", 64 << 20), ("grpc.use_local_subchannel_pool", 1)])
        unary = channel.unary_unary("/test.Test/Unary")
        many = channel.unary_stream("/test.Test/Many")
        sum_up = channel.stream_unary("/test.Test/Sum")
        talk = channel.stream_stream("/test.Test/Talk")

        def failure(call):
            try:
                call()
            except grpc.RpcError as error:
                return error
            raise AssertionError("no failure")

        def parts():
            answer, call = unary.with_call(b"hello", timeout=30)
            assert answer == b"hello" and call.code() == grpc.StatusCode.OK
            assert ("x-count", "5") in [tuple(each) for each in call.trailing_metadata()]
            error = failure(lambda: unary(b"fail", timeout=30))
            assert error.code() == grpc.StatusCode.FAILED_PRECONDITION, error
            assert error.details() == "no such thing"
            assert ("x-why", "because") in [tuple(each) for each in error.trailing_metadata()]
            assert [int(each) for each in many(b"2000", timeout=30)] == list(range(2000))
            large = bytes(range(256)) * (1 << 15)
            assert unary(large, timeout=30) == large
            error = failure(lambda: channel.unary_unary("/test.Test/None")(b"", timeout=30))
            assert error.code() == grpc.StatusCode.UNIMPLEMENTED, error
            error = failure(lambda: unary(b"wait", timeout=1))
            assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED, error
            with futures.ThreadPoolExecutor(100) as pool:
                words = [b"%d" % index for index in range(100)]
                assert list(pool.map(lambda word: unary(word, timeout=30), words)) == words

        def streams():
            assert sum_up(iter([b"abc"] * 1000), timeout=30) == b"3000"
            pieces = [bytes(1 << 20)] * 20
            assert sum_up(iter(pieces), timeout=30) == b"%d" % (20 << 20)
            words = queue.Queue()
            call = talk(iter(words.get, None), timeout=30)
            # The head comes before the request has ended, or said anything.
            assert ("x-early", "1") in [tuple(each) for each in call.initial_metadata()]
            for word in [b"a", b"b", b"c"]:
                words.put(word)
                assert next(call) == word.upper()
            words.put(None)
            assert list(call) == [] and call.code() == grpc.StatusCode.OK

        def proved():
            metadata = [tuple(each.split("=", 1)) for each in sys.argv[3:]]
            assert unary(b"result", metadata=metadata, timeout=30) == b"verified"
            again = failure(lambda: unary(b"result", metadata=metadata, timeout=30))
            assert again.code() == grpc.StatusCode.UNAUTHENTICATED, again
            bare = failure(lambda: unary(b"result", timeout=30))
            assert bare.code() == grpc.StatusCode.UNAUTHENTICATED, bare

        globals()[sys.argv[2]]()
        print("done")
        """

    private let directory: ScratchDirectory
    private let server: ChildProcess
    private let port: UInt16

    init() throws {
        directory = try ScratchDirectory()
        let path = try directory.write(Self.server, to: "server.py")
        server = try ChildProcess(PythonInterpreter.debian.path, [path])
        let line = try server.waitForLine(on: .standardOutput, containing: "port ")
        port = try #require(UInt16(line.dropFirst("port ".count)))
    }
}

extension GRPCTests {
    private func run(_ gateway: GatewayProcess, _ arguments: [String]) throws {
        let path = try directory.write(Self.client, to: "client.py")
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path, [path, "\(gateway.port)"] + arguments,
            within: .seconds(300))
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        #expect(gateway.alarms.isEmpty)
    }

    @Test(
        "calls of one message each, errors in trailers, deadlines, large messages, 100 at once",
        .timeLimit(.minutes(30)), arguments: ["hold", "stream"])
    func unary(handling: String) throws {
        let gateway = try GatewayProcess(
            .http2Upstream(
                port: port, route: ["request_body: \(handling)", "body_max: 64MiB"]))
        try run(gateway, ["parts"])
        try server.waitForLine(on: .standardOutput, containing: "stopped")
        server.kill()
    }

    @Test("streams of the client's and of both", .timeLimit(.minutes(30)))
    func streams() throws {
        let gateway = try GatewayProcess(
            .http2Upstream(port: port, route: ["request_body: stream", "body_max: 64MiB"]))
        try run(gateway, ["streams"])
        server.kill()
    }

    @Test("a call with an assertion is verified, once", .timeLimit(.minutes(30)))
    func verified() throws {
        var configuration = GatewayConfiguration.http2Upstream(port: port)
        configuration.routes = [.init("test", path: "/test.Test/*", attest: "mode: enforce")]
        let gateway = try GatewayProcess(configuration)
        let device = try SimulatedClient.enrolled(gateway)
        // The message as it goes over the wire: not compressed, and its length.
        let body = [0, 0, 0, 0, 6] + Array("result".utf8)
        let fields = try device.signature("POST", "/test.Test/Unary", body: body)
        try run(gateway, ["proved"] + fields.map { "\($0.0.lowercased())=\($0.1)" })
        server.kill()
    }
}
