import Bytes
import EventLoop
import Foundation
import Testing

@Suite("A socket")
struct SocketTests {}

extension SocketTests {
    @Test("is listened on, connected to and accepted", arguments: ["127.0.0.1", "::1"])
    func connection(host: String) throws {
        let loop = try EventLoop()
        let any = try #require(SocketAddress.numeric(host: host, port: 0))
        let listener = try Socket.listen(on: any)
        defer { Socket.close(listener) }
        let address = try #require(Socket.localAddress(listener))
        #expect(address.port != 0)
        #expect(Socket.accept(listener) == .wouldBlock)

        let client = try Socket.connected(to: address)
        defer { Socket.close(client) }
        var served: (Int32, SocketAddress)?
        let acceptor = ClosureHandler(loop: loop, descriptor: listener)
        acceptor.onReadable = { handler in
            if case .accepted(let descriptor, let peer) = Socket.accept(listener) {
                served = (descriptor, peer)
            }
            handler.watch = nil
        }
        acceptor.watch?.enableReading()
        let connecting = ClosureHandler(loop: loop, descriptor: client)
        connecting.onWritable = { handler in
            #expect(Socket.connectError(client) == 0)
            handler.watch = nil
        }
        connecting.watch?.enableWriting()
        loop.run()
        let (server, peer) = try #require(served)
        defer { Socket.close(server) }
        #expect(peer == Socket.localAddress(client))
        #expect(Socket.peerAddress(client) == address)
        #expect(Socket.hasNoDelay(server) && Socket.hasNoDelay(client))
        #expect(Socket.isNonBlockingAndClosedOnExec(server))
        #expect(Socket.isNonBlockingAndClosedOnExec(client))
    }

    @Test("was not connected for a want of this machine, or for another reason")
    func ownShortage() throws {
        let address = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 9))
        // Datagrams go there, so there is an address to connect from, and it was the ports.
        for code in [EADDRNOTAVAIL, EMFILE] {
            #expect(Socket.isOwnShortage(errno: code, connectingTo: address))
        }
        #expect(!Socket.isOwnShortage(errno: ECONNREFUSED, connectingTo: address))
        // Nothing comes from there, nor goes there.
        let nowhere = try #require(SocketAddress.unix("/nowhere"))
        #expect(!Socket.isOwnShortage(errno: EADDRNOTAVAIL, connectingTo: nowhere))
        // Ports of listeners are another matter.
        #expect(!Socket.isOwnShortage(errno: EADDRNOTAVAIL))
    }

    @Test("takes little more than can be sent, where the peer reads nothing")
    func unsent() throws {
        let any = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let listener = try Socket.listen(on: any)
        defer { Socket.close(listener) }
        let client = try Socket.connected(to: try #require(Socket.localAddress(listener)))
        defer { Socket.close(client) }
        guard case .accepted(let server, _) = Socket.accept(listener) else {
            Issue.record("no connection")
            return
        }
        defer { Socket.close(server) }
        let block = [UInt8](repeating: 0x2E, count: 1 << 20)
        while case .bytes = Socket.write(server, block.span) {}
        #expect(Socket.queuedByteCount(server) <= 512 * 1024)
    }

    @Test("tells that a connection was refused")
    func refused() throws {
        let loop = try EventLoop()
        let any = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let listener = try Socket.listen(on: any)
        defer { Socket.close(listener) }
        // The near end of a connection has a port that is taken but not listened on.
        let peer = try Socket.connected(to: try #require(Socket.localAddress(listener)))
        defer { Socket.close(peer) }
        let address = try #require(Socket.localAddress(peer))
        var code: Int32 = 0
        switch Socket.connect(to: address) {
        case .connected(let descriptor): Socket.close(descriptor)
        case .failed(let failure): code = failure
        case .inProgress(let descriptor):
            let handler = ClosureHandler(loop: loop, descriptor: descriptor)
            handler.onWritable = { handler in
                code = Socket.connectError(descriptor)
                handler.watch = nil
            }
            handler.watch?.enableWriting()
            loop.run()
            Socket.close(descriptor)
        }
        #expect(IOError.text(errno: code) == "connection refused")
    }

    @Test("names the address and the reason where it cannot listen")
    func inUse() throws {
        let any = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let listener = try Socket.listen(on: any)
        defer { Socket.close(listener) }
        let address = try #require(Socket.localAddress(listener))
        let port = try #require(address.port)
        let error = #expect(throws: IOError.self) { try Socket.listen(on: address) }
        #expect(error?.description == "127.0.0.1:\(port): address already in use")
        #expect(throws: IOError("127.0.0.1:\(port)", .addressInUse)) {
            try Socket.listeners(on: address, count: 2)
        }
        let foreign = try #require(SocketAddress.numeric(host: "192.0.2.1", port: 8080))
        #expect(throws: IOError("192.0.2.1:8080", .addressNotAvailable)) {
            try Socket.listen(on: foreign)
        }
    }

    @Test("is shared by several listeners on one free port, and by nobody else", arguments: [1, 3])
    func reusePort(count: Int) throws {
        let any = try #require(SocketAddress.numeric(host: "127.0.0.1", port: 0))
        let listeners = try Socket.listeners(on: any, count: count)
        defer { for listener in listeners { Socket.close(listener) } }
        let addresses = Set(listeners.map { Socket.localAddress($0) })
        #expect(addresses.count == 1)
        let address = try #require(addresses.first ?? nil)
        #expect(throws: IOError(address.description, .addressInUse)) {
            try Socket.listeners(on: address, count: 3)
        }
        let further = try Socket.listeners(on: address, count: 2, besideOwn: true)
        defer { for listener in further { Socket.close(listener) } }
        #expect(further.allSatisfy { Socket.localAddress($0) == address })
    }

    @Test("at a unix path replaces a file nobody answers at, and no other")
    func unix() throws {
        let directory = try TestDirectory()
        let path = directory.path("api.sock")
        let address = try #require(SocketAddress.unix(path))
        let first = try Socket.listen(on: address)
        guard case .connected(let client) = Socket.connect(to: address) else {
            Issue.record("no connection")
            return
        }
        guard case .accepted(let server, let peer) = Socket.accept(first) else {
            Issue.record("nothing accepted")
            return
        }
        #expect(peer.isUnix)
        #expect(Socket.write(client, [7].span) == .bytes(1))
        var buffer = ByteBuffer()
        #expect(Socket.read(server, into: &buffer, atMost: 10) == .bytes(1))
        #expect(Socket.read(server, into: &buffer, atMost: 10) == .wouldBlock)
        #expect(throws: IOError("unix:\(path)", .addressInUse)) { try Socket.listen(on: address) }
        for descriptor in [client, server, first] { Socket.close(descriptor) }
        // The file is still there, as after a crash.
        #expect(File.exists(path))
        let second = try Socket.listeners(on: address, count: 2)
        for listener in second { Socket.close(listener) }
        let plain = directory.path("plain")
        try File.write(plain, [1], mode: 0o600)
        let taken = try #require(SocketAddress.unix(plain))
        #expect(throws: IOError("unix:\(plain)", .addressInUse)) { try Socket.listen(on: taken) }
        #expect(File.exists(plain))
        let missing = try #require(SocketAddress.unix(directory.path("none/api.sock")))
        #expect(throws: IOError.self) { try Socket.listen(on: missing) }
    }

    @Test("reports a peer that is gone as an error, not a signal")
    func brokenPipe() throws {
        let (near, far) = try Socket.pair()
        Socket.close(far)
        defer { Socket.close(near) }
        #expect(Socket.write(near, [1].span) == .failed(errno: EPIPE))
        #expect(Socket.write(near, [1].span, [2].span) == .failed(errno: EPIPE))
    }

    @Test("sends a part of a file")
    func fileParts() throws {
        let directory = try TestDirectory()
        var file = try TemporaryFile(directory: directory.root)
        try file.append(Array(0..<200).span)
        let (near, far) = try Socket.pair()
        defer {
            Socket.close(near)
            Socket.close(far)
        }
        #expect(file.content.send(from: 100, atMost: 50, to: near) == .bytes(50))
        #expect(file.content.send(from: 200, atMost: 50, to: near) == .bytes(0))
        var buffer = ByteBuffer()
        #expect(Socket.read(far, into: &buffer, atMost: 1000) == .bytes(50))
        let received = buffer.readable.array
        #expect(received == Array(100..<150))
    }
}

@Suite("A socket address")
struct SocketAddressTests {}

extension SocketAddressTests {
    @Test(
        "is written as it is read",
        arguments: [
            ("127.0.0.1", "127.0.0.1:80"), ("255.0.10.9", "255.0.10.9:80"), ("::1", "[::1]:80"),
            ("2001:DB8:0:0:1:0:0:1", "[2001:db8::1:0:0:1]:80"), ("::", "[::]:80"),
        ])
    func text(host: String, text: String) throws {
        let address = try #require(SocketAddress.numeric(host: host, port: 80))
        #expect(address.description == text)
        #expect(address.port == 80)
        #expect(SocketAddress.numeric(host: address.ipText, port: 80) == address)
        #expect(address.withPort(81).description == text.dropLast(2) + "81")
        #expect(address.ipBytes.count == (host.contains(":") ? 16 : 4))
    }

    @Test(
        "is refused where it is not numeric",
        arguments: [
            "", "localhost", "127.1", "010.0.0.1", "1.2.3.4.5", "[::1]", "::1%lo", "1::2::3",
        ])
    func malformed(host: String) {
        #expect(SocketAddress.numeric(host: host, port: 80) == nil)
    }

    @Test("of a unix socket must fit the kernel's form")
    func unixPath() {
        #expect(SocketAddress.unix("") == nil)
        #expect(SocketAddress.unix("a\0b") == nil)
        #expect(SocketAddress.unix(String(repeating: "x", count: 108)) == nil)
        let path = String(repeating: "x", count: 107)
        #expect(SocketAddress.unix(path)?.description == "unix:" + path)
    }

    @Test("is found for a name, or the name is reported")
    func resolve() throws {
        let addresses = try SocketAddress.resolve(host: "localhost", port: 8080)
        #expect(addresses.contains { ["127.0.0.1:8080", "[::1]:8080"].contains($0.description) })
        #expect(Set(addresses).count == addresses.count)
        #expect(try SocketAddress.resolve(host: "::1", port: 1).first?.description == "[::1]:1")
        let error = #expect(throws: IOError.self) {
            try SocketAddress.resolve(host: "no such name", port: 1)
        }
        #expect(error?.description.hasPrefix("no such name: ") == true)
    }
}
