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
            }
        ]
    }
}
