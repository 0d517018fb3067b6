import EventLoop

extension Operation {
    /// What libevent makes; an event that it has no memory for ends the process, by design.
    static func loops() -> [Operation] {
        [
            Operation("event loop: made", of: .libevent) {
                .good {
                    let loop = try EventLoop()
                    return Starvation.sated {
                        var isDone = false
                        let timer = Timer(loop: loop) {
                            isDone = true
                            loop.stop()
                        }
                        timer.schedule(after: .zero)
                        loop.run()
                        return isDone
                    }
                }
            },
            Operation("event loop: made on two threads", of: .libevent) {
                .good {
                    nonisolated(unsafe) var areMade = false
                    let thread = try Thread.spawn(name: "loops") { areMade = make() }
                    let areMadeHere = make()
                    thread.join()
                    return areMade && areMadeHere
                }
            },
        ]
    }

    /// Many, so that both threads ask for memory and give it back at once.
    private static func make() -> Bool {
        (1...100).allSatisfy { _ in (try? EventLoop()) != nil }
    }
}
