package dev.sallyport.client;

import java.io.IOException;
import java.util.Map;

/**
 * The document {@code /.well-known/app-attest} of a gateway, for apps whose operator may move the
 * endpoints or rename the headers. Others do not need it.
 */
public final class Discovery {
    private Discovery() {}

    /**
     * Asks a gateway and returns settings for it.
     *
     * @param origin Scheme, host and port of the gateway, without a path.
     */
    public static Configuration.Builder ask(String origin, Transport transport)
            throws IOException {
        Target target = Target.of(origin);
        Response response =
                transport.send(Request.get(target.origin + "/.well-known/app-attest"));
        Map<String, Object> document = Gateway.answer(response);
        String base = Json.string(document, "base");
        Map<String, Object> headers = Json.object(document, "headers");
        Double format = Json.number(document, "format");
        if (base == null || !base.startsWith("/") || headers == null || format == null
                || format != 1) {
            throw new ClientException.UnexpectedAnswer(response.status);
        }
        String assertion = Json.string(headers, "assertion");
        String clientData = Json.string(headers, "client_data");
        String keyId = Json.string(headers, "key_id");
        if (assertion == null || clientData == null || keyId == null) {
            throw new ClientException.UnexpectedAnswer(response.status);
        }
        return new Configuration.Builder(target.origin + base)
                .headers(assertion, clientData, keyId)
                .sessionTokenHeader(Json.string(document, "session_token_bound_to"));
    }
}
