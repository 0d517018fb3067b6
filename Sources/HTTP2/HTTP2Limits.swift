/// The bounds of one HTTP/2 connection, each with its reason.
///
/// Counts of frames say how many may come at once; a tenth of that is allowed again each second.
/// Beyond it, the connection ends with ENHANCE_YOUR_CALM.
public struct HTTP2Limits: Hashable, Sendable {
    /// The most open streams: as many as browsers and URLSession expect (RFC 9113 section 6.5.2).
    public var concurrentStreamCountMax = 100
    /// The body bytes that a client may have under way on one stream, and on all of them: they keep
    /// a link of 100 Mbit/s and 20 ms busy. They are not held for longer than sending them on
    /// takes.
    public var streamWindowByteCount = 256 * 1024
    public var connectionWindowByteCount = 1024 * 1024
    /// The most CONTINUATION frames of one header block: clients need none (CVE-2024-28182).
    public var continuationCountMax = 8
    /// The most streams that the client resets, or makes us reset by its own fault: this is work
    /// that is thrown away (CVE-2023-44487, CVE-2025-8671).
    public var resetCountMax = 200
    /// The most PING frames, each of which has to be answered (CVE-2019-9512). Clients send one
    /// every few seconds.
    public var pingCountMax = 100
    /// The most SETTINGS frames, each of which has to be answered (CVE-2019-9515). Clients send one
    /// or two.
    public var settingsCountMax = 20
    /// The most priority frames. They have no effect here, as the connection's SETTINGS say
    /// (CVE-2019-9513). Browsers send PRIORITY_UPDATE as pages are read, so this many are allowed
    /// beyond ten for each request.
    public var priorityCountMax = 200
    /// The most DATA frames without content that end nothing (CVE-2019-9518).
    public var emptyDataCountMax = 100
    /// The most WINDOW_UPDATE frames beyond ten for each DATA frame that was sent (CVE-2019-9511).
    public var windowUpdateCountMax = 1000
    /// The most frames of types that HTTP/2 does not define, and of GOAWAY.
    public var unknownFrameCountMax = 100
    /// The most answers to PING and SETTINGS that wait because the client does not read.
    public var unsentAckCountMax = 100

    public init() {}
}

/// The bounds of one header block.
public struct FieldSectionLimits: Hashable, Sendable {
    /// The most bytes: names, values and 32 bytes for each field (RFC 9113 section 10.5.1).
    public var byteCountMax: Int
    /// A block beyond `byteCountMax` is answered, because its compression state has to be kept. A
    /// block beyond this one ends the connection: it is a bomb in HPACK.
    public var bombByteCount: Int { byteCountMax * 4 }

    public init(byteCountMax: Int) { self.byteCountMax = byteCountMax }
}
