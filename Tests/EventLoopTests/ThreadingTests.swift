import EventLoop
import Glibc
import Testing

@Suite("Between threads")
struct ThreadingTests {}

extension ThreadingTests {
    @Test("a mailbox delivers ten thousand messages of four threads, each thread's in order")
    func mailbox() throws {
        let loop = try EventLoop()
        let mailbox = try Mailbox<(sender: Int, number: Int)>(countMax: 100)
        var received: [[Int]] = Array(repeating: [], count: 4)
        var count = 0
        let receiver = mailbox.attach(to: loop) { message in
            received[message.sender].append(message.number)
            count += 1
            if count == 10_000 { loop.stop() }
        }
        let threads = try (0..<4).map { sender in
            try Thread.spawn(name: "sender \(sender)") {
                for number in 0..<2500 {
                    while !mailbox.post((sender, number)) { sched_yield() }
                }
            }
        }
        loop.run()
        for thread in threads { thread.join() }
        #expect(received == Array(repeating: Array(0..<2500), count: 4))
        receiver.close()
    }

    @Test("a mailbox holds what was posted before its loop came, up to its bound")
    func bound() throws {
        let loop = try EventLoop()
        let mailbox = try Mailbox<Int>(countMax: 3)
        let taken = (0..<5).map { mailbox.post($0) }
        #expect(taken == [true, true, true, false, false])
        var received: [Int] = []
        let receiver = mailbox.attach(to: loop) { message in
            received.append(message)
            if message == 2 { loop.stop() }
        }
        loop.run()
        #expect(received == [0, 1, 2])
        #expect(mailbox.post(9))
        receiver.close()
    }

    @Test("a mailbox refuses messages once its receiver has gone")
    func gone() throws {
        let loop = try EventLoop()
        let mailbox = try Mailbox<Int>(countMax: 10)
        var receiver: MailboxReceiver<Int>?
        var received: [Int] = []
        receiver = mailbox.attach(to: loop) { message in
            received.append(message)
            receiver?.close()
        }
        #expect(mailbox.post(1) && mailbox.post(2))
        loop.run()
        receiver = nil
        #expect(received == [1])
        #expect(!mailbox.post(3))

        let other = try Mailbox<Int>(countMax: 10)
        var otherReceiver: MailboxReceiver<Int>?
        otherReceiver = other.attach(to: loop) { _ in otherReceiver = nil }
        #expect(other.post(1) && other.post(2))
        loop.run()
        #expect(otherReceiver === nil)
        #expect(!other.post(3))
    }

    @Test("a thread that must make something first has made it when it is there, or has ended")
    func preparing() throws {
        struct Failure: Error {}
        let steps = Locked<[Int]>([])
        let thread = try Thread.spawn(
            name: "prepared",
            preparing: { () -> Int in
                steps.withLock { $0.append(1) }
                return 2
            }
        ) { step in steps.withLock { $0.append(step) } }
        #expect(steps.withLock { $0.first } == 1)
        thread.join()
        #expect(steps.withLock { $0 } == [1, 2])
        #expect(throws: Failure.self) {
            try Thread.spawn(name: "failing", preparing: { throw Failure() }) { () in
                steps.withLock { $0.append(3) }
            }
        }
        #expect(steps.withLock { $0 } == [1, 2])
    }

    @Test("a lock lets one thread in at a time")
    func lock() throws {
        let counter = Locked(0)
        let threads = try (0..<4).map { _ in
            try Thread.spawn(name: "counting") {
                for _ in 0..<1000 { counter.withLock { $0 += 1 } }
            }
        }
        for thread in threads { thread.join() }
        #expect(counter.withLock { $0 } == 4000)
    }

    @Test("a lock is given back when its body throws")
    func throwing() {
        struct Failure: Error {}
        let value = Locked(1)
        #expect(throws: Failure.self) {
            try value.withLock { value throws(Failure) in
                value = 2
                throw Failure()
            }
        }
        #expect(value.withLock { $0 } == 2)
    }

    @Test("whoever does not wait for a lock goes on without it")
    func lockIfFree() throws {
        let value = Locked(1)
        let outcome = Locked<Int??>(.none)
        try value.withLock { _ in
            let thread = try Thread.spawn(name: "trying") {
                let result = value.withLockIfFree { $0 }
                outcome.withLock { $0 = .some(result) }
            }
            thread.join()
        }
        #expect(outcome.withLock { $0 } == .some(nil))
        #expect(value.withLockIfFree { $0 } == 1)
        #expect(value.withLockIfFree { $0 } == 1)
    }

    @Test("a thread has its name and its processor, and blocks signals")
    func thread() throws {
        let seen = Locked((name: "", processorCount: 0, isTerminateBlocked: false))
        let thread = try Thread.spawn(name: "a rather long name", processor: 0) {
            let name = (try? File.read("/proc/thread-self/comm", byteCountMax: 100)) ?? []
            var signals = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &signals)
            let isBlocked = sigismember(&signals, SIGTERM) == 1
            let count = HostSystem.processorCount
            seen.withLock {
                $0 = (String(decoding: name.dropLast(), as: UTF8.self), count, isBlocked)
            }
        }
        thread.join()
        let result = seen.withLock { $0 }
        #expect(result.name == "a rather long n")
        #expect(result.processorCount >= 1)
        #expect(result.isTerminateBlocked)
    }

    @Test("signals arrive on the loop that watches for them")
    func signals() throws {
        let loop = try EventLoop()
        var received: [Int32] = []
        var watches: [SignalWatch] = []
        for signal in [SignalWatch.user1, SignalWatch.hangUp] {
            watches.append(
                SignalWatch(loop: loop, signal: signal) {
                    received.append(signal)
                    if received.count == 1 { kill(getpid(), SIGHUP) }
                    if received.count == 2 {
                        watches = []
                        loop.stop()
                    }
                })
        }
        kill(getpid(), SIGUSR1)
        loop.run()
        #expect(received == [SignalWatch.user1, SignalWatch.hangUp])
    }

    @Test("writing to a pipe without a reader is an error once broken pipes are ignored")
    func brokenPipe() throws {
        SignalWatch.ignoreBrokenPipes()
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        Socket.close(ends[0])
        #expect(File.append(ends[1], [1].span) == .failed(errno: EPIPE))
        Socket.close(ends[1])
    }
}
