/// Code that reads what strangers send, and what must hold of it for every input.
///
/// `make fuzz` runs each under libFuzzer and AddressSanitizer; `FuzzTests` replays the corpus.
/// A new parser gets a file here, a line in ``all`` and a folder in `Fuzz/Corpus`.
public struct FuzzTarget: Sendable {
    /// Also the folder of its corpus.
    public let name: String
    /// Longer inputs cost time and find nothing more.
    public let byteCountMax: Int
    /// What any input may make its reader allocate, in bytes: tables that are made once fall to
    /// whichever is the first.
    private let allocatedAtOnce: Int
    /// And for each byte of the input. The checks cut it in pieces and read it again, and pay from
    /// this too.
    private let allocatedPerByte: Int
    private let check: @Sendable ([UInt8]) throws -> Void
    private let makeSeeds: @Sendable () throws -> [[UInt8]]

    init(
        _ name: String, byteCountMax: Int = 4096, allocatedAtOnce: Int = 512 << 10,
        allocatedPerByte: Int = 1000,
        seeds: @escaping @Sendable () throws -> [[UInt8]] = { [] },
        check: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.name = name
        self.byteCountMax = byteCountMax
        self.allocatedAtOnce = allocatedAtOnce
        self.allocatedPerByte = allocatedPerByte
        makeSeeds = seeds
        self.check = check
    }

    /// Throws a ``FuzzFinding``, or traps, where something does not hold.
    public func run(_ bytes: [UInt8]) throws {
        guard bytes.count <= byteCountMax else { return }
        try check(bytes)
    }

    /// Throws a ``FuzzFinding`` where the run of an input allocated more than it is worth: what a
    /// stranger sends may cost no more than in proportion to its length.
    public func requireCheap(inputByteCount: Int, allocatedByteCount: Int) throws(FuzzFinding) {
        let allowed = allocatedAtOnce + allocatedPerByte * inputByteCount
        try FuzzFinding.require(
            allocatedByteCount <= allowed,
            "\(inputByteCount) bytes made it allocate \(allocatedByteCount), at most \(allowed)")
    }

    /// Throws a ``FuzzFinding`` where an input took longer than `allowed`, in milliseconds.
    public func requireFast(milliseconds: Int, allowed: Int) throws(FuzzFinding) {
        try FuzzFinding.require(
            milliseconds <= allowed, "took \(milliseconds) ms, at most \(allowed)")
    }

    /// Inputs too long or too short-lived to be checked in: certificates expire.
    public func seeds() -> [[UInt8]] { (try? makeSeeds()) ?? [] }

    public static let all: [FuzzTarget] = [
        requestHead, responseHead, chunkedBody, http2, http2Client, proxyHeader, forwarded,
        targetPath, settings, cbor, attestation, clientData, jsonMembers, jsonEvents,
        jsonQuestion, envoyCheck, envoyProcessing, base64, failureReport, keySet, foreignToken,
        gatewayToken,
        signature, androidChain, keyDescription, revocationList,
    ]

    /// One of ``all``, ``canary`` or ``glutton``.
    public static func named(_ name: String) -> FuzzTarget? {
        (all + [canary, glutton]).first { $0.name == name }
    }
}

/// A promise that does not hold for some input.
public struct FuzzFinding: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }

    static func require(_ holds: Bool, _ promise: @autoclosure () -> String) throws(FuzzFinding) {
        guard holds else { throw FuzzFinding(promise()) }
    }

    static func requireEqual<Value: Equatable>(
        _ left: Value, _ right: Value, _ promise: @autoclosure () -> String
    ) throws(FuzzFinding) {
        guard left == right else {
            throw FuzzFinding("\(promise())\n  \(left)\n  \(right)")
        }
    }
}

/// Ways to cut an input: whole, byte by byte, and in pieces of a length that the input decides.
enum Cuts {
    /// Offsets at which a piece ends, the last one being `count`.
    static func all(of bytes: [UInt8]) -> [[Int]] {
        guard bytes.count > 1 else { return [Array(0...bytes.count)] }
        let step = 2 + Int(bytes.reduce(0, &+)) % 37
        return [
            Array(1...bytes.count),
            Array(stride(from: step, to: bytes.count, by: step)) + [bytes.count],
        ]
    }

    /// The pieces that end at these offsets.
    static func pieces(endingAt ends: [Int]) -> [Range<Int>] {
        zip([0] + ends, ends).map { $0..<$1 }
    }
}
