import Bytes
import Settings
import TLS

/// The certificates that a listener shows for one name: for metrics and the event log.
struct ListenerCertificate: Equatable {
    let listener: String
    /// The first of the certificate's names; empty if it has none.
    let name: String
    /// The first second and the last in which they are valid, since 1970. Of several certificates
    /// for the name, one for each kind of key, those of the one that ends first.
    private(set) var notBefore: Int64
    private(set) var notAfter: Int64

    /// The certificates in the order of the configuration.
    static func all(_ site: Site) -> [ListenerCertificate] {
        site.settings.tlsListeners.flatMap { listener in
            of(
                listener.tls?.configuration.certificates.map(\.identity) ?? [],
                listener: "\(listener.bind)")
        }
    }

    private static func of(_ identities: [TLSIdentity], listener: String) -> [ListenerCertificate] {
        var figures: [ListenerCertificate] = []
        for identity in identities {
            let name = identity.names.first ?? ""
            guard let index = figures.firstIndex(where: { $0.name == name }) else {
                figures.append(
                    ListenerCertificate(
                        listener: listener, name: name, notBefore: identity.notBefore,
                        notAfter: identity.notAfter))
                continue
            }
            guard identity.notAfter < figures[index].notAfter else { continue }
            figures[index].notBefore = identity.notBefore
            figures[index].notAfter = identity.notAfter
        }
        return figures
    }

    /// True if an operator should renew it at `now`: two weeks before its end, or, with a life of
    /// less than eight weeks, when a quarter of its life is left. A program that renews it by
    /// itself has done so by then.
    func isEnding(at now: Int64) -> Bool {
        let life = max(0, notAfter - notBefore)
        return notAfter - now < min(14 * 86_400, life / 4)
    }

    /// The text of the event log at `now`.
    func text(at now: Int64) -> String {
        let place = "listener \(listener): the certificate \(name.isEmpty ? "" : "for \(name) ")"
        let left = notAfter - now
        guard left >= 0 else { return place + "has expired" }
        let rest =
            left >= 2 * 86_400
            ? String(counting: left / 86_400, "day")
            : left >= 3600
                ? String(counting: left / 3600, "hour") : String(counting: left / 60, "minute")
        return place + "expires in " + rest
    }
}
