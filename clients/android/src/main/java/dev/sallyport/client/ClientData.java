package dev.sallyport.client;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** The bytes that an assertion covers. */
final class ClientData {
    private ClientData() {}

    static Target target(Request request) throws ClientException.InvalidRequest {
        try {
            return Target.of(request.url);
        } catch (IllegalArgumentException error) {
            throw new ClientException.InvalidRequest(error.getMessage());
        }
    }

    /** The JSON that is signed and sent in a header. */
    static byte[] header(Request request, String challenge, byte[] bodyDigest)
            throws ClientException.InvalidRequest {
        Target target = target(request);
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("challenge", challenge);
        members.put("method", request.method);
        members.put("path", target.path);
        members.put("query", target.query);
        members.put("bodySHA256", Base64.encode(bodyDigest));
        return Json.write(members).getBytes(StandardCharsets.UTF_8);
    }

    /**
     * The body with the challenge as its first member, which is signed as it is. All other bytes
     * stay as the app wrote them.
     */
    static byte[] body(Body body, String challenge, String member)
            throws ClientException.InvalidRequest {
        byte[] bytes = body == null ? null : body.bytes();
        if (bytes == null) {
            throw new ClientException.InvalidRequest("the signed body is not in memory");
        }
        String text = new String(bytes, StandardCharsets.UTF_8);
        Map<String, Object> object;
        try {
            object = Json.object(text);
        } catch (Json.Malformed error) {
            throw new ClientException.InvalidRequest("the signed body is not a JSON object");
        }
        if (object.containsKey(member)) {
            throw new ClientException.InvalidRequest("the body has a member " + member);
        }
        int start = text.indexOf('{') + 1;
        String first = Json.write(member) + ":" + Json.write(challenge);
        return (text.substring(0, start) + first + (object.isEmpty() ? "" : ",")
                + text.substring(start)).getBytes(StandardCharsets.UTF_8);
    }

    /** The attestation challenge: the token's bytes, or their SHA-256 if they are too many. */
    static byte[] attestationChallenge(String token) {
        byte[] bytes = token.getBytes(StandardCharsets.UTF_8);
        return bytes.length <= 128 ? bytes : Body.sha256(bytes);
    }

    /** The key ID of a public key. */
    static String keyId(byte[] point) {
        return Base64.encode(Body.sha256(point));
    }
}
