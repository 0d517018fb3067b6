import Foundation
import GatewayTesting
import JSON
import Testing

/// A real WebSocket client and server, with the built gateway between them.
@Suite("WebSocket")
struct WebSocketTests {}

extension WebSocketTests {
    static let isInstalled =
        PythonInterpreter.debian.has("websockets")

    private static let server = """
        import asyncio, sys, websockets
        async def echo(socket, path=None):
            async for message in socket:
                await socket.send(message)
        async def main():
            server = await websockets.serve(echo, "127.0.0.1", 0, max_size=None)
            print("port", server.sockets[0].getsockname()[1], flush=True)
            await asyncio.Future()
        asyncio.run(main())
        """

    private static let client = """
        import asyncio, os, sys, websockets
        async def main():
            uri = "ws://127.0.0.1:" + sys.argv[1] + "/ws"
            async with websockets.connect(uri, max_size=None) as socket:
                for message in ["hello", b"\\x00\\xff", "x" * 70000, os.urandom(3 << 20)]:
                    await socket.send(message)
                    assert await socket.recv() == message
                await (await socket.ping())
                parts = [os.urandom(1 << 16) for _ in range(64)]
                async def send():
                    for part in parts:
                        await socket.send(part)
                sending = asyncio.ensure_future(send())
                for part in parts:
                    assert await socket.recv() == part
                await sending
            assert socket.close_code == 1000, socket.close_code
            print("done")
        asyncio.run(main())
        """

    @Test("a stop and an upgrade wait for a tunnel as long as they are told to, not longer")
    func drain() throws {
        let gate = Gate()
        let agreement = "HTTP/1.1 101 OK\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        let upstream = try RecordingUpstream { request in
            guard request.target == "/ws" else { return .response(body: "new") }
            return UpstreamAnswer([.send(Array(agreement.utf8)), .wait(gate)])
        }
        defer { gate.open() }
        var configuration = GatewayConfiguration(
            upstreamPort: upstream.port,
            routes: [
                .init("ws", path: "/ws", more: ["upgrade: [websocket]"]), .init("all", path: "/*"),
            ])
        configuration.more = ["timeouts: { tunnel_drain: 100ms, drain: 1h, upgrade: 1m }"]
        let gateway = try GatewayProcess(configuration)
        func open() throws -> RawClient {
            let client = try gateway.connect()
            try client.send(
                "GET", "/ws", fields: [("Connection", "Upgrade"), ("Upgrade", "websocket")])
            #expect(try client.receiveHead().status == 101)
            return client
        }
        let first = try open()
        let index = gateway.current.lines(on: .standardError).count
        gateway.current.send(signal: SIGUSR2)
        #expect(try first.receiveToEnd().isEmpty)
        try gateway.waitForEvent("ready", from: index)
        #expect(try gateway.exchange("GET", "/").bodyText == "new")
        let second = try open()
        gateway.current.terminate()
        #expect(try second.receiveToEnd().isEmpty)
        #expect(try gateway.current.waitForExit() == .exited(0))
        let details = try gateway.accessLines(3).map { $0["detail"]?.stringValue }
        #expect(details == ["tunnel_drained", nil, "tunnel_drained"])
    }

    @Test(
        "messages of every size, pings and the closing handshake pass",
        .enabled(if: isInstalled, "python3-websockets is not installed"))
    func realPeers() throws {
        let directory = try ScratchDirectory()
        let serverPath = try directory.write(Self.server, to: "server.py")
        let clientPath = try directory.write(Self.client, to: "client.py")
        let server = try ChildProcess(PythonInterpreter.debian.path, [serverPath])
        let line = try server.waitForLine(on: .standardOutput, containing: "port ")
        let port = try #require(UInt16(line.dropFirst("port ".count)))
        var configuration = GatewayConfiguration(
            upstreamPort: port, routes: [.init("ws", path: "/ws", more: ["upgrade: [websocket]"])])
        configuration.workers = 1
        let gateway = try GatewayProcess(configuration)
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path, [clientPath, "\(gateway.port)"])
        #expect(outcome.status == .exited(0))
        let access = try gateway.accessLine()
        #expect("\(access)".contains("101"))
        #expect(gateway.alarms.isEmpty)
        server.kill()
    }
}
