import EventLoop

extension Gateway {
    /// Has the event log name the certificates that end soon: now, and once a day from now on.
    func watchCertificates(on loop: EventLoop) {
        let timer = Timer(loop: loop) { [unowned self] in examineCertificates() }
        timer.scheduleRepeating(every: .seconds(86_400))
        timers.repeating.append(timer)
    }

    func examineCertificates() {
        let now = WallClock.now().seconds
        for certificate in ListenerCertificate.all(currentSite) where certificate.isEnding(at: now)
        {
            control?.log.event("certificate_expiring", certificate.text(at: now))
        }
    }
}
