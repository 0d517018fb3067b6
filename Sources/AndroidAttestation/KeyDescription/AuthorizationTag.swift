/// The tags of authorizations that are read (Keymaster's and KeyMint's `Tag`, without its type).
enum AuthorizationTag {
    static let purpose: UInt32 = 1
    static let algorithm: UInt32 = 2
    static let keySize: UInt32 = 3
    static let digest: UInt32 = 5
    static let ecCurve: UInt32 = 10
    static let noAuthRequired: UInt32 = 503
    static let userAuthType: UInt32 = 504
    static let authTimeout: UInt32 = 505
    static let allApplications: UInt32 = 600
    static let creationDateTime: UInt32 = 701
    static let origin: UInt32 = 702
    static let rootOfTrust: UInt32 = 704
    static let osVersion: UInt32 = 705
    static let osPatchLevel: UInt32 = 706
    static let attestationApplicationID: UInt32 = 709
    static let vendorPatchLevel: UInt32 = 718
    static let bootPatchLevel: UInt32 = 719
    static let moduleHash: UInt32 = 724

    /// The brand, device, product, manufacturer and model: checked for their form, never kept.
    static let deviceProperties: Set<UInt32> = [710, 711, 712, 716, 717]
    /// The serial number, IMEI, MEID and second IMEI: an attestation with one of them is refused.
    static let deviceIdentifiers: Set<UInt32> = [713, 714, 715, 723]
}
