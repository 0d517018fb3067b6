import AndroidAttestationTesting
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import EventLoop

/// `sallyport-lab mint`: makes single objects in files, for `sallyport explain` and outside checks.
enum MintCommand {
    private static let usage = """
        usage: sallyport-lab mint attestation --apple FILE --device FILE --out FILE [--at SECONDS]
                                  [--challenge-file FILE | --client-data-hash HEX] [--fault NAME]
                                  [--receipt FORM] [--base64]
               sallyport-lab mint assertion --device FILE --out FILE
                                  [--client-data-file FILE | --client-data-hash HEX]
                                  [--fault NAME] [--base64]
               sallyport-lab mint receipt --apple FILE --device FILE --out FILE [--at SECONDS]
                                  [--risk-metric N] [--base64]
               sallyport-lab mint android-attestation --google FILE (--device FILE | PHONE)
                                  (--challenge TOKEN | --challenge-file FILE) [--at SECONDS]
                                  [--fault NAME] [--pem] [--out FILE]
               sallyport-lab mint android-signature --device FILE --client-data-file FILE
                                  --out FILE [--fault NAME] [--base64]
               sallyport-lab mint --list

        --challenge-file, --client-data-file  the bytes whose SHA-256 the object covers; of a phone,
                                              those that it attests or signs
        --client-data-hash                    that SHA-256 itself, as an app hands it to Apple
        --challenge TOKEN                     a gateway's challenge for a phone's key
        --list                                every fault, system, quirk and receipt form

        android-attestation prints a JSON array of base64, leaf first, unless --out is given; --pem
        makes it PEM.
        \(PhoneOptions.usage)
        Faults of android-attestation:\(faults)
        """

    private static var faults: String {
        var lines = [""]
        for fault in AndroidFault.allCases {
            if (lines.last?.count ?? 0) + fault.rawValue.count > 94 { lines.append("") }
            lines[lines.count - 1] += (lines.last == "" ? "  " : " ") + fault.rawValue
        }
        return lines.map { "\n" + $0 }.joined()
    }

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words,
            names: [
                "--apple", "--device", "--out", "--at", "--challenge-file", "--client-data-file",
                "--client-data-hash", "--fault", "--receipt", "--risk-metric", "--google",
                "--challenge",
            ] + PhoneOptions.names, flags: ["--base64", "--list", "--pem"] + PhoneOptions.flags,
            operandCounts: 0...1, usage: usage)
        if options.has("--list") { return list() }
        guard let kind = options.operands.first else { LabExit.usage(usage) }
        let object: [UInt8]
        switch kind {
        case "attestation": object = try attestation(options)
        case "assertion": object = try assertion(options)
        case "receipt": object = try receipt(options)
        case "android-attestation": object = try AndroidMinting.attestation(options)
        case "android-signature": object = try AndroidMinting.signature(options)
        default: LabExit.usage(usage)
        }
        if kind == "android-attestation", options.value("--out") == nil {
            return print(String(decoding: object, as: UTF8.self), terminator: "")
        }
        try LabFile.write(
            options.required("--out"),
            options.has("--base64") ? Array(Base64.encode(object).utf8) : object)
    }

    private static func list() {
        print("attestation faults:")
        for fault in AttestationFault.allCases { print("  \(fault.rawValue)  \(fault.code)") }
        print("assertion faults:")
        for fault in AssertionFault.allCases { print("  \(fault.rawValue)  \(fault.code)") }
        AndroidMinting.list()
        print("systems: \(SimulatedSystem.allCases.map(\.rawValue).joined(separator: " "))")
        print("receipt forms: \(ReceiptForm.allCases.map(\.rawValue).joined(separator: " "))")
    }

    private static func seconds(_ options: LabOptions) -> Int64 {
        Int64(options.count("--at", or: Int(WallClock.now().seconds)))
    }

    /// The SHA-256 of a file's bytes, or of no bytes if no file is named; or the hash that is given
    /// itself.
    private static func hash(_ options: LabOptions, _ name: String) throws -> [UInt8] {
        if let hex = options.value("--client-data-hash") {
            guard let hash = Hex.decode(hex), hash.count == 32 else {
                LabExit.usage("--client-data-hash: not 64 hexadecimal digits")
            }
            return hash
        }
        return SHA256.hash(try options.value(name).map { try LabFile.read($0) } ?? []).array
    }

    private static func attestation(_ options: LabOptions) throws -> [UInt8] {
        let device = try DeviceState(reading: options.required("--device")).device
        return try device.attest(
            clientDataHash: try hash(options, "--challenge-file"),
            by: try LabFile.apple(options.required("--apple")), at: seconds(options),
            fault: options.optionalChoice("--fault"),
            receipt: options.choice("--receipt", or: ReceiptForm.genuine))
    }

    private static func assertion(_ options: LabOptions) throws -> [UInt8] {
        let state = try DeviceState(reading: options.required("--device"))
        let object = try state.device.assert(
            clientDataHash: try hash(options, "--client-data-file"),
            fault: options.optionalChoice("--fault"))
        try state.save()
        return object
    }

    private static func receipt(_ options: LabOptions) throws -> [UInt8] {
        let apple = try LabFile.apple(options.required("--apple"))
        let device = try DeviceState(reading: options.required("--device")).device
        let metric = options.value("--risk-metric").flatMap { UInt32($0) }
        var receipt = SimulatedReceipt(
            kind: metric == nil ? .attest : .receipt, appID: device.appID,
            attestedKey: device.publicKey.x963, clientHash: SHA256.hash([UInt8]()).array,
            environment: device.environment, createdAt: seconds(options))
        receipt.riskMetric = metric
        return try apple.receipt(receipt)
    }
}
