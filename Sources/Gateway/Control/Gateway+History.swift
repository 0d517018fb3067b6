import EventLoop

extension Gateway {
    /// Has the status page's history follow the meters.
    func keepHistory(on loop: EventLoop) {
        let timer = Timer(loop: loop) { [hub] in
            StatusSampler.sample(hub, at: MonotonicInstant.now())
        }
        timer.scheduleRepeating(every: StatusSampler.interval)
        timers.repeating.append(timer)
    }
}
