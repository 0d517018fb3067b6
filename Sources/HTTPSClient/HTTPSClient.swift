import CCurl
public import EventLoop

/// Sends requests to other servers over HTTPS: libcurl on our loop, so that nothing blocks and no
/// thread is needed. It uses HTTP/2 if the server has it, with many requests on one connection.
///
/// Belongs to the loop's thread. If the client is deallocated, its requests end without a reply;
/// ``close()`` replies to them.
@safe
public final class HTTPSClient {
    public let configuration: HTTPSConfiguration
    private let loop: EventLoop
    private let transfers: UnsafeMutableRawPointer
    private var timer: Timer?
    private var watches: [Int32: SocketWatch] = [:]
    /// The calls, by the addresses of their transfers.
    private var calls: [UInt: HTTPSCall] = [:]
    private var isClosed = false

    private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    public init(loop: EventLoop, _ configuration: HTTPSConfiguration) throws(HTTPSClientError) {
        guard Self.isLibraryReady, let transfers = unsafe curl_multi_init() else {
            throw HTTPSClientError(description: "libcurl cannot be started")
        }
        self.loop = loop
        self.configuration = configuration
        unsafe self.transfers = transfers
        let connectionCountMax = configuration.inFlightCountMax
        unsafe sallyport_curl_multi_number(
            transfers, CURLMOPT_MAX_TOTAL_CONNECTIONS, connectionCountMax)
        unsafe sallyport_curl_multi_number(
            transfers, CURLMOPT_MAXCONNECTS, HTTPSConfiguration.idleConnectionCountMax)
        unsafe sallyport_curl_multi_number(
            transfers, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        timer = Timer(loop: loop) { [unowned self] in act(on: CURL_SOCKET_TIMEOUT, 0) }
        unsafe sallyport_curl_multi_hooks(
            transfers, socketHasChanged, timerHasChanged,
            Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        if !isClosed { _ = release() }
    }

    public var inFlightCount: Int { calls.count }

    /// Sends a request. `handler` is called with the result, once and later, unless the call is
    /// cancelled. A failure because of too many requests in flight is reported later, too.
    @discardableResult
    public func send(
        _ request: HTTPSRequest,
        handler: @escaping (Result<HTTPSResponse, HTTPSFailure>) -> Void
    ) -> HTTPSCall {
        let call = HTTPSCall(handler)
        do throws(HTTPSFailure) {
            guard !isClosed else { throw .closed }
            guard inFlightCount < configuration.inFlightCountMax else { throw .tooManyInFlight }
            let transfer = try unsafe call.prepare(request, configuration)
            calls[UInt(bitPattern: transfer)] = call
            call.client = self
            // libcurl asks through the hooks for the events to wait for.
            let code = unsafe curl_multi_add_handle(transfers, transfer)
            guard code == CURLM_OK else {
                calls[UInt(bitPattern: transfer)] = nil
                throw .failed(unsafe String(cString: curl_multi_strerror(code)))
            }
        } catch {
            call.fail(error, on: loop)
        }
        return call
    }

    /// Ends every request with ``HTTPSFailure/closed``, and every connection. Nothing is sent
    /// afterwards.
    public func close() {
        guard !isClosed else { return }
        for call in release() { call.end(.failure(.closed)) }
    }

    /// Releases libcurl's objects. Returns the requests that were in flight.
    private func release() -> [HTTPSCall] {
        isClosed = true
        let open = Array(calls.values)
        calls.removeAll()
        // From here on libcurl closes descriptors without calling the hooks.
        unsafe sallyport_curl_multi_hooks(transfers, nil, nil, nil)
        timer = nil
        for watch in watches.values { watch.cancel() }
        watches.removeAll()
        for call in open { unsafe call.end(in: transfers) }
        unsafe curl_multi_cleanup(transfers)
        return open
    }

    func cancel(_ transfer: UnsafeMutableRawPointer) {
        let call = calls.removeValue(forKey: UInt(bitPattern: transfer))
        unsafe call?.end(in: transfers)
    }

    // MARK: events for libcurl

    fileprivate func watch(_ descriptor: Int32, for kinds: Int32) {
        guard kinds != CURL_POLL_REMOVE else {
            watches.removeValue(forKey: descriptor)?.cancel()
            return
        }
        let watch =
            watches[descriptor] ?? SocketWatch(descriptor, loop: loop, client: self)
        watches[descriptor] = watch
        watch.wait(for: kinds)
    }

    fileprivate func wake(afterMilliseconds milliseconds: Int) {
        if milliseconds < 0 {
            timer?.cancel()
        } else {
            timer?.schedule(after: .milliseconds(milliseconds))
        }
    }

    /// Has libcurl handle an event that it waited for. Handlers are called after it has returned:
    /// libcurl must not be called from within itself, and a handler may send, cancel, close or drop
    /// the client.
    func act(on descriptor: Int32, _ kinds: Int32) {
        var runningCount: Int32 = 0
        unsafe curl_multi_socket_action(transfers, descriptor, kinds, &runningCount)
        var ended: [(call: HTTPSCall, result: Result<HTTPSResponse, HTTPSFailure>)] = []
        var leftCount: Int32 = 0
        while let message = unsafe curl_multi_info_read(transfers, &leftCount) {
            guard unsafe message.pointee.msg == CURLMSG_DONE,
                let transfer = unsafe message.pointee.easy_handle
            else { continue }
            // Read before the handle is removed, which ends the message's life.
            let code = unsafe message.pointee.data.result
            guard let call = calls.removeValue(forKey: UInt(bitPattern: transfer)) else {
                continue
            }
            let result = call.result(code)
            unsafe call.end(in: transfers)
            ended.append((call, result))
        }
        for (call, result) in ended { call.end(result) }
    }
}

private func socketHasChanged(
    _: UnsafeMutableRawPointer?, _ descriptor: Int32, _ kinds: Int32,
    _ context: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context else { preconditionFailure("a hook without a context") }
    unsafe Unmanaged<HTTPSClient>.fromOpaque(context).takeUnretainedValue()
        .watch(descriptor, for: kinds)
    return 0
}

private func timerHasChanged(
    _: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context else { preconditionFailure("a hook without a context") }
    unsafe Unmanaged<HTTPSClient>.fromOpaque(context).takeUnretainedValue()
        .wake(afterMilliseconds: milliseconds)
    return 0
}
