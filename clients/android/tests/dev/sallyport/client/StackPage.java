package dev.sallyport.client;

import android.content.Context;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptors;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import java.io.File;
import java.io.IOException;
import java.util.concurrent.Executor;
import okhttp3.OkHttpClient;
import retrofit2.Retrofit;

/** The blocks of docs/client/stacks.md. */
final class StackPage extends Site {
    StackPage() throws IOException {}

    private static Retrofit retrofit(Context context, Configuration configuration) {
        OkHttpClient plain = new OkHttpClient.Builder().followRedirects(false).build();
        Parts parts = Parts.ofDevice(context, configuration);
        parts.transport = new OkHttpTransport(plain);
        AttestClient client = new AttestClient(configuration, parts);
        OkHttpClient http = plain.newBuilder()
                .addInterceptor(new SigningInterceptor(client)).build();
        Retrofit api = new Retrofit.Builder()
                .baseUrl("https://api.example.com/").client(http).build();
        return api;
    }

    @Claim("the page's client is in Retrofit's")
    void retrofit() {
        File folder = new File(System.getProperty("java.io.tmpdir"), "never-made");
        Retrofit api = retrofit(new DeviceKeyStoreTests.FakeContext(folder), settings.build());
        Expect.equal(api.client.interceptors.size(), 1);
        Expect.isTrue(api.client.interceptors.get(0) instanceof SigningInterceptor);
    }

    @Claim("the page's interceptor proves the calls of gRPC's channel")
    void grpc() throws Exception {
        AttestClient client = client();
        Executor threads = work -> new Thread(work).start();
        Channel channel = new GrpcNetwork(network, gateway.url());
        Channel proved = ClientInterceptors.intercept(
                channel, new ProvingInterceptor(client, AttestClient.Proof.ASSERTION, threads));
        CallOptions streams = CallOptions.DEFAULT.withCallCredentials(
                new SessionTokenCredentials(client, null, threads));
        GrpcNetwork.Outcome outcome = new GrpcNetwork.Outcome();
        ClientCall<String, String> call =
                proved.newCall(GrpcNetwork.method(MethodType.UNARY), CallOptions.DEFAULT);
        call.start(outcome, new Metadata());
        call.request(2);
        call.sendMessage("hello");
        call.halfClose();
        Expect.equal(outcome.status().getCode(), Status.Code.OK);
        Expect.isTrue(streams.getCredentials() instanceof SessionTokenCredentials);
    }
}
