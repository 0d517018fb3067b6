import AppAttestTesting
import Bytes
import EventLoop
import HTTP

/// One client of a measurement: sends when its run says so, awaits the answer, and makes the next
/// request.
final class LoadConnection: ReadinessHandler {
    private static let limits = HeadLimits(
        headByteCountMax: 64 * 1024, fieldCountMax: 200, targetByteCountMax: 8 * 1024)
    private static let challengeName = Array("x-app-attest-challenge".utf8)

    private unowned let run: LoadRun
    private let devices: [SimulatedDevice]
    private var challenges: [[UInt8]?]
    private var deviceIndex = 0
    private var isFetchingChallenge = false
    /// Requests that were signed ahead, one behind another, with their lengths.
    private var stock = ByteBuffer()
    private var stockByteCounts: [Int] = []
    private var nextInStock = 0
    /// True once it has signed its requests ahead. A connection that is lost and opened anew still
    /// has them.
    private(set) var isStocked = false
    /// True if the request under way was signed ahead.
    private var isFromStock = false

    private var descriptor: Int32 = -1
    private var watch: Watch?
    private var isConnecting = false
    private var output = ByteBuffer()
    private var input = ByteBuffer()
    private var head = ResponseHead()
    /// The time at which the request under way was due; nil without one.
    private(set) var dueAt: MonotonicInstant?
    /// The bytes of every request, if nothing is signed.
    private let plainRequest: [UInt8]

    init(run: LoadRun, devices: [SimulatedDevice]) {
        self.run = run
        self.devices = devices
        challenges = Array(repeating: nil, count: devices.count)
        let plan = run.plan
        plainRequest = HTTPRequest(method: plan.method, target: plan.path, body: plan.body)
            .bytes(host: plan.address.description)
    }

    // MARK: the connection

    func open() {
        switch Socket.connect(to: run.plan.address) {
        case .connected(let raw): adopt(raw, isConnecting: false)
        case .inProgress(let raw): adopt(raw, isConnecting: true)
        case .failed(let code): run.fail(LabError("connect to \(run.plan.address): errno \(code)"))
        }
    }

    private func adopt(_ raw: Int32, isConnecting: Bool) {
        descriptor = raw
        self.isConnecting = isConnecting
        input.clear()
        output.clear()
        head.reset()
        dueAt = nil
        let watch = Watch(loop: run.loop, descriptor: raw, handler: self)
        self.watch = watch
        if isConnecting {
            watch.enableWriting()
        } else {
            watch.enableReading()
            run.isIdle(self)
        }
    }

    func close() {
        watch?.cancel()
        watch = nil
        if descriptor >= 0 { Socket.close(descriptor) }
        descriptor = -1
    }

    private func reopen() {
        run.recordError()
        run.isLost(self)
        close()
        open()
    }

    func descriptorIsWritable() {
        guard isConnecting else { return flush() }
        let code = Socket.connectError(descriptor)
        guard code == 0 else {
            return run.fail(LabError("connect to \(run.plan.address): errno \(code)"))
        }
        isConnecting = false
        watch?.disableWriting()
        watch?.enableReading()
        run.isIdle(self)
    }

    func descriptorIsReadable() {
        switch Socket.read(descriptor, into: &input, atMost: 16 * 1024) {
        case .bytes: readAnswer()
        case .wouldBlock: return
        case .endOfFile, .failed: reopen()
        }
    }

    // MARK: sending

    /// Makes the next request, or asks for the challenge that it needs.
    func prepare() {
        isFromStock = nextInStock < stockByteCounts.count
        if devices.isEmpty {
            output.append(plainRequest)
        } else if isFromStock {
            let byteCount = stockByteCounts[nextInStock]
            nextInStock += 1
            output.append(stock.readable.extracting(first: byteCount))
            stock.consume(byteCount)
        } else if isStocked {
            return run.isOut()
        } else if let challenge = challenges[deviceIndex] {
            guard appendSigned(challenge, to: &output) else { return }
        } else {
            return fetchChallenge()
        }
        run.isReady(self)
    }

    private func fetchChallenge() {
        isFetchingChallenge = true
        let base = run.plan.signing?.base ?? "/"
        output.append("GET \(base)assert/challenge HTTP/1.1\r\nHost: lab\r\n\r\n")
        flush()
    }

    /// Signs one request ahead if there is a challenge for it. True once there are `count`; until
    /// then the connection is put back among the idle ones.
    func stocks(_ count: Int) -> Bool {
        if let challenge = challenges[deviceIndex] {
            let before = stock.count
            guard appendSigned(challenge, to: &stock) else { return false }
            stockByteCounts.append(stock.count - before)
            takeTurn(leaving: nil)
        }
        isStocked = stockByteCounts.count >= count
        if !isStocked { fetchChallenge() }
        return isStocked
    }

    /// Sends the prepared request.
    func send(dueAt instant: MonotonicInstant) {
        dueAt = instant
        flush()
    }

    private func appendSigned(_ challenge: [UInt8], to output: inout ByteBuffer) -> Bool {
        let plan = run.plan
        do {
            let signed = try devices[deviceIndex].sign(
                method: plan.method, path: plan.path, body: plan.body,
                challenge: String(decoding: challenge, as: UTF8.self))
            output.append(plan.method)
            output.append(" ")
            output.append(plan.path)
            output.append(" HTTP/1.1\r\nHost: lab\r\n")
            for field in signed.headers {
                output.append(field.name)
                output.append(": ")
                output.append(field.value)
                output.append("\r\n")
            }
            output.append("Content-Length: ")
            output.append(decimal: UInt64(plan.body.count))
            output.append("\r\n\r\n")
            output.append(plan.body)
            return true
        } catch {
            run.fail(LabError("\(error)"))
            return false
        }
    }

    private func flush() {
        while !output.isEmpty {
            switch Socket.write(descriptor, output.readable) {
            case .bytes(let count): output.consume(count)
            case .wouldBlock: return watch?.enableWriting() ?? ()
            case .failed: return reopen()
            }
        }
        watch?.disableWriting()
    }

    // MARK: answers

    private func readAnswer() {
        let outcome = head.parse(
            input.readable, limits: Self.limits, requestMethodKind: .get)
        switch outcome {
        case .incomplete: return
        case .refused(let refusal):
            return run.fail(LabError("the answer is not HTTP: \(refusal)"))
        case .complete: break
        }
        var bodyByteCount = 0
        switch head.framing {
        case .none: break
        case .length(let count): bodyByteCount = Int(clamping: count)
        case .chunked, .untilClose:
            return run.fail(LabError("an answer under load must have a Content-Length"))
        }
        guard input.count - head.byteCount >= bodyByteCount else { return }
        finish(bodyByteCount: bodyByteCount)
    }

    private func finish(bodyByteCount: Int) {
        if isFetchingChallenge {
            guard head.status == 200 else {
                return run.fail(LabError("no challenge: \(head.status)"))
            }
            challenges[deviceIndex] =
                input.readable.extracting(head.byteCount..<head.byteCount + bodyByteCount).array
            isFetchingChallenge = false
        } else {
            guard let dueAt else {
                return run.fail(LabError("an answer to no request: \(head.status)"))
            }
            run.record(status: head.status, dueAt: dueAt)
            self.dueAt = nil
            takeNextChallenge()
        }
        input.consume(head.byteCount + bodyByteCount)
        let isKept = head.keepAlive
        head.reset()
        if isKept {
            run.isIdle(self)
        } else {
            close()
            open()
        }
    }

    private func takeNextChallenge() {
        // A request that was signed ahead may belong to another device than the next in turn.
        guard !devices.isEmpty, !isFromStock else { return }
        takeTurn(leaving: Self.challenge(in: input.readable, head))
    }

    private func takeTurn(leaving challenge: [UInt8]?) {
        challenges[deviceIndex] = challenge
        deviceIndex = (deviceIndex + 1) % devices.count
    }

    private static func challenge(in bytes: Span<UInt8>, _ head: borrowing ResponseHead) -> [UInt8]?
    {
        for field in head.fields where field.name.count == UInt32(challengeName.count) {
            let name = bytes.extracting(field.name)
            guard ASCII.equalsIgnoringCase(name, lowercase: challengeName) else { continue }
            return bytes.extracting(field.value).array
        }
        return nil
    }
}
