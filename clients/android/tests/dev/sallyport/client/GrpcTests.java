package dev.sallyport.client;

import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

final class GrpcTests extends Site {
    private final GrpcNetwork channel = new GrpcNetwork(network, gateway.url());
    private final List<Thread> threads = new ArrayList<>();
    private final Executor executor = work -> {
        Thread thread = new Thread(work);
        threads.add(thread);
        thread.start();
    };

    GrpcTests() throws IOException {}

    private ProvingInterceptor interceptor(AttestClient.Proof proof) {
        return new ProvingInterceptor(client(), proof, executor);
    }

    /** Waits until the client has kept the challenge: the call ends for its caller before. */
    private void awaitKept() throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
    }

    @Claim("a call with one message is signed over gRPC's bytes, and sent without compression")
    void signed() throws Exception {
        ProvingInterceptor interceptor = interceptor(AttestClient.Proof.ASSERTION);
        for (MethodType type : new MethodType[] {MethodType.UNARY, MethodType.SERVER_STREAMING}) {
            GrpcNetwork.Outcome outcome = channel.call(interceptor, type, "hello");
            Expect.equal(outcome.status().getCode(), Status.Code.OK);
            Expect.equal(outcome.message, "served");
            Expect.equal(gateway.last("/api/x").text(), "\0\0\0\0\5hello");
            awaitKept();
        }
        Expect.equal(gateway.count("/assert/challenge"), 0);
        Expect.isTrue(channel.options.stream().allMatch(each -> each.getCompressor() == null));
    }

    @Claim("a refusal is followed, and one that stays is the cause of the call's status")
    void refused() throws Exception {
        ProvingInterceptor interceptor = interceptor(AttestClient.Proof.ASSERTION);
        channel.call(interceptor, MethodType.UNARY, "1").status();
        awaitKept();
        gateway.forgetChallenges();
        GrpcNetwork.Outcome outcome = channel.call(interceptor, MethodType.UNARY, "2");
        Expect.equal(outcome.status().getCode(), Status.Code.OK);
        Expect.equal(gateway.count("/api/x"), 3);
        gateway.script("/api/x", FakeGateway.refusal(401, "assertion_invalid", "sign_again"), 3);
        Status status = channel.call(interceptor, MethodType.UNARY, "3").status();
        Expect.equal(status.getCode(), Status.Code.UNAUTHENTICATED);
        Expect.equal(
                ((ClientException.Refused) status.getCause()).refusal.code, "assertion_invalid");
        gateway.script("/api/x", new FakeGateway.Reply(503, "down"));
        status = channel.call(interceptor, MethodType.UNARY, "4").status();
        Expect.equal(status.getCode(), Status.Code.UNAVAILABLE);
        Expect.equal(gateway.count("/api/x"), 7);
    }

    @Claim("calls that stream requests and calls to other hosts are left alone")
    void others() throws Exception {
        gateway.observes = true;
        ProvingInterceptor interceptor = interceptor(AttestClient.Proof.ASSERTION);
        channel.call(interceptor, MethodType.BIDI_STREAMING, "1").status();
        GrpcNetwork other =
                new GrpcNetwork(network, gateway.url().replace("127.0.0.1", "localhost"));
        other.call(interceptor, MethodType.UNARY, "2").status();
        Expect.equal(gateway.count("/api/x"), 2);
        Expect.equal(keys.keyCount, 0);
    }

    @Claim("a call may go with a session token, which credentials give to calls of any kind")
    void token() throws Exception {
        ProvingInterceptor interceptor = interceptor(AttestClient.Proof.SESSION_TOKEN);
        Expect.equal(
                channel.call(interceptor, MethodType.UNARY, "1").status().getCode(),
                Status.Code.OK);
        Expect.isTrue(gateway.last("/api/x").header("X-App-Attest-Token") != null);
        Expect.isTrue(credentials().get().startsWith("session-"));
        keys.isSupported = false;
        Expect.equal(credentials().get(), "UNAUTHENTICATED");
    }

    private CompletableFuture<String> credentials() {
        CompletableFuture<String> outcome = new CompletableFuture<>();
        new SessionTokenCredentials(client(), null, executor).applyRequestMetadata(
                new CallCredentials.RequestInfo() {}, executor,
                new CallCredentials.MetadataApplier() {
                    @Override
                    public void apply(Metadata headers) {
                        outcome.complete(
                                headers.get(ProvingInterceptor.key("x-app-attest-token")));
                    }

                    @Override
                    public void fail(Status status) {
                        outcome.complete(status.getCode().name());
                    }
                });
        return outcome;
    }

    @Claim("a call that was cancelled before it began is not sent")
    void cancelled() throws Exception {
        Deque<Runnable> waiting = new ArrayDeque<>();
        ProvingInterceptor interceptor = new ProvingInterceptor(
                client(), AttestClient.Proof.ASSERTION, waiting::add);
        GrpcNetwork.Outcome outcome = new GrpcNetwork.Outcome();
        ClientCall<String, String> call = interceptor.interceptCall(
                GrpcNetwork.method(MethodType.UNARY), CallOptions.DEFAULT, channel);
        call.start(outcome, new Metadata());
        call.sendMessage("hello");
        call.halfClose();
        call.cancel("not needed", null);
        waiting.remove().run();
        Expect.equal(outcome.status().getCode(), Status.Code.CANCELLED);
        Expect.equal(gateway.count("/api/x"), 0);
    }
}
