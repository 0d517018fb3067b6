import Background
import Crypto
import EventLoop
import KeyStore
import Settings

/// The list of withdrawn Android attestation certificates, and the keys that it names.
extension Gateway {
    /// Begins to fetch the list. Blocks while the one of an earlier gateway is read.
    func startRevocations(on loop: EventLoop) throws {
        let listedKeys = ListedKeyRevocation(
            loop: loop, state: hub.androidRevocations, log: hub.logs,
            holder: RandomBytes.bytes(16)
        ) { [unowned self] in
            guard let access = hub.administration else { return nil }
            let settings = currentSite.settings
            return RevocationStores(
                open: { try access.open(settings) },
                mark: { try access.markRevoked($0, settings) })
        }
        self.listedKeys = listedKeys
        let revocations = RevocationFetcher(
            loop: loop, state: hub.androidRevocations, log: hub.logs,
            file: RevocationFile(site.settings),
            onList: { [unowned listedKeys] in listedKeys.take($0, from: $1) })
        self.revocations = revocations
        let change = try revocations.change(to: site.settings.neededRevocation)
        revocations.restore(change)
        revocations.use(change)
    }
}
