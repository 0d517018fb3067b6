package io.grpc;

public interface ClientInterceptor {
    <A, B> ClientCall<A, B> interceptCall(
            MethodDescriptor<A, B> method, CallOptions options, Channel next);
}
