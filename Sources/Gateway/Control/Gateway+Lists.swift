import Background
import Crypto
import EventLoop
import KeyStore
import Settings

/// The documents that the control thread fetches again and again, and what follows from them.
struct FetchedLists {
    /// The keys of issuers.
    var keySets: KeySetFetcher?
    /// The list of withdrawn Android attestation certificates.
    var revocations: RevocationFetcher?
    var listedKeys: ListedKeyRevocation?

    func close() {
        keySets?.close()
        revocations?.close()
        listedKeys?.close()
    }
}

extension Gateway {
    /// Begins to fetch the keys of issuers. Blocks while those of an earlier gateway are read.
    func startKeySets(on loop: EventLoop) throws {
        let keySets = KeySetFetcher(
            loop: loop, register: hub.issuerKeys, log: hub.logs,
            folder: KeySetFolder(site.settings))
        let change = try keySets.change(to: site.settings.proofs)
        keySets.restore(change)
        keySets.use(change)
        lists.keySets = keySets
    }

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
        lists.listedKeys = listedKeys
        let revocations = RevocationFetcher(
            loop: loop, state: hub.androidRevocations, log: hub.logs,
            file: RevocationFile(site.settings),
            onList: { [unowned listedKeys] in listedKeys.take($0, from: $1) })
        lists.revocations = revocations
        let change = try revocations.change(to: site.settings.neededRevocation)
        revocations.restore(change)
        revocations.use(change)
    }
}
