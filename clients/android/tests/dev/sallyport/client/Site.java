package dev.sallyport.client;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** A gateway, and what makes up a client before it. */
class Site implements AutoCloseable {
    final FakeGateway gateway = new FakeGateway();
    final FakeKeyStore keys = new FakeKeyStore();
    final StateStore.Memory store = new StateStore.Memory();
    final TestTransport network = new TestTransport();
    final TestClock clock = new TestClock();
    final Configuration.Builder settings = new Configuration.Builder(gateway.url());

    Site() throws IOException {}

    @Override
    public void close() {
        gateway.close();
    }

    Parts parts() {
        Parts parts = new Parts(
                keys, store, network, new AppInfo("com.example.app", "410", "14"));
        parts.clock = clock;
        return parts;
    }

    /** A client as at a launch of the app. */
    AttestClient client() {
        return new AttestClient(settings.build(), parts());
    }

    String url() {
        return url("/api/x");
    }

    String url(String target) {
        return gateway.url() + target;
    }

    Request request() {
        return Request.get(url());
    }

    int send(AttestClient client) throws IOException {
        return client.send(request()).status;
    }

    /** The outcomes of eight calls at once: their values, or their errors. */
    static List<Object> together(Callable<?> call) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            List<Future<Object>> outcomes = new ArrayList<>();
            for (int index = 0; index < 8; index++) {
                outcomes.add(threads.submit(() -> {
                    try {
                        return (Object) call.call();
                    } catch (IOException error) {
                        return error.toString();
                    }
                }));
            }
            List<Object> values = new ArrayList<>();
            for (Future<Object> outcome : outcomes) {
                values.add(outcome.get());
            }
            return values;
        } finally {
            threads.shutdownNow();
        }
    }
}
