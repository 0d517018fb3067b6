package io.grpc;

public final class ClientInterceptors {
    private ClientInterceptors() {}

    public static Channel intercept(Channel channel, ClientInterceptor... interceptors) {
        return new Channel() {
            @Override
            public <A, B> ClientCall<A, B> newCall(
                    MethodDescriptor<A, B> method, CallOptions options) {
                return interceptors[0].interceptCall(method, options, channel);
            }

            @Override
            public String authority() {
                return channel.authority();
            }
        };
    }
}
