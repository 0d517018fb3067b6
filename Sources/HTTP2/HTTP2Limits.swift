/// The bounds of one HTTP/2 connection, each with its reason.
///
/// Counts of frames are what may come at once; a tenth of it is allowed again each second. Beyond,
/// the connection ends with ENHANCE_YOUR_CALM.
public struct HTTP2Limits: Hashable, Sendable {
    /// Streams open at a time: what browsers and URLSession expect (RFC 9113 section 6.5.2).
    public var concurrentStreamCountMax = 100
    /// Body bytes that a client may have under way on one stream, and on all of them: what keeps a
    /// link of 100 Mbit/s and 20 ms busy. They are not held for longer than it takes to hand on.
    public var streamWindowByteCount = 256 * 1024
    public var connectionWindowByteCount = 1024 * 1024
    /// CONTINUATION frames of one header block: clients need none (CVE-2024-28182).
    public var continuationCountMax = 8
    /// Streams that the client resets, or makes us reset by a fault of its own: work that is
    /// thrown away (CVE-2023-44487, CVE-2025-8671).
    public var resetCountMax = 200
    /// Each has to be answered (CVE-2019-9512). Clients send one every few seconds.
    public var pingCountMax = 100
    /// Each has to be answered (CVE-2019-9515). Clients send one or two.
    public var settingsCountMax = 20
    /// They say nothing here, as the connection's SETTINGS tell (CVE-2019-9513). Browsers send
    /// PRIORITY_UPDATE as pages are read: so many beyond ten for each request.
    public var priorityCountMax = 200
    /// DATA that carries and ends nothing (CVE-2019-9518).
    public var emptyDataCountMax = 100
    /// The most WINDOW_UPDATE frames beyond ten for each DATA frame that was sent (CVE-2019-9511).
    public var windowUpdateCountMax = 1000
    /// Frames of types that HTTP/2 does not define, and GOAWAY.
    public var unknownFrameCountMax = 100
    /// Answers to PING and SETTINGS that wait because the client does not read.
    public var unsentAckCountMax = 100

    public init() {}
}

/// The bounds of one header block.
public struct FieldSectionLimits: Hashable, Sendable {
    /// Names, values and 32 bytes for each field (RFC 9113 section 10.5.1).
    public var byteCountMax: Int
    /// A block beyond `byteCountMax` is answered, as its compression state has to be kept; one
    /// beyond this ends the connection: a bomb in HPACK.
    public var bombByteCount: Int { byteCountMax * 4 }

    public init(byteCountMax: Int) { self.byteCountMax = byteCountMax }
}
