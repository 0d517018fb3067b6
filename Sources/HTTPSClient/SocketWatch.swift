import CCurl
import EventLoop

/// A connection of libcurl that the loop watches.
final class SocketWatch: ReadinessHandler {
    private let descriptor: Int32
    private unowned let client: HTTPSClient
    private let watch: Watch

    init(_ descriptor: Int32, loop: EventLoop, client: HTTPSClient) {
        self.descriptor = descriptor
        self.client = client
        watch = Watch(loop: loop, descriptor: descriptor)
        watch.handler = self
    }

    /// Waits for the events that libcurl waits for: `CURL_POLL_IN` and the like.
    func wait(for kinds: Int32) {
        if kinds & CURL_POLL_IN != 0 { watch.enableReading() } else { watch.disableReading() }
        if kinds & CURL_POLL_OUT != 0 { watch.enableWriting() } else { watch.disableWriting() }
    }

    /// Ends the watch, before libcurl closes the descriptor.
    func cancel() { watch.cancel() }

    func descriptorIsReadable() { client.act(on: descriptor, CURL_CSELECT_IN) }

    func descriptorIsWritable() { client.act(on: descriptor, CURL_CSELECT_OUT) }
}
