package dev.sallyport.client;

import java.util.Collections;
import java.util.Random;

final class BytesTests {
    @Claim("base64 is as Java's own")
    void base64() {
        Random random = new Random(1);
        for (int count = 0; count < 100; count++) {
            byte[] bytes = new byte[count];
            random.nextBytes(bytes);
            String expected = java.util.Base64.getEncoder().encodeToString(bytes);
            Expect.equal(Base64.encode(bytes), expected);
            Expect.equal(
                    Base64.urlSafe(expected),
                    java.util.Base64.getUrlEncoder().withoutPadding().encodeToString(bytes));
        }
    }

    @Claim("JSON is read strictly and written so that it can be read")
    void json() throws Exception {
        String text = "{\"a\":[1,-0.5e+2,true,false,null,{}],\"\\u00e9\\n\":\"\\\"\\\\ü\\u0001\"}";
        Expect.equal(Json.object(Json.write(Json.object(text))), Json.object(text));
        Expect.equal(
                Json.write(Json.object(" { \"a\" : [ 1 , [ ] ] } ")), "{\"a\":[1.0,[]]}");
        String[] malformed = {
            "", "[]", "{", "{}x", "{\"a\":1,\"a\":2}", "{\"a\":01}", "{\"a\":1.}", "{\"a\":.5}",
            "{\"a\":+1}", "{\"a\":NaN}", "{\"a\":1e}", "{a:1}", "{\"a\":\"\n\"}", "{\"a\":'b'}",
            "{\"a\":\"\\x\"}", "{\"a\":\"\\u12g4\"}", "{\"a\":[1,]}", "{\"a\":1,}", "{\"a\" 1}",
            "{\"a\":tru}", "{\"a\":\"", "{\"a\":\"\\u\u0661234\"}",
            "{\"a\":" + String.join("", Collections.nCopies(99, "[")) + "1"
                + String.join("", Collections.nCopies(99, "]")) + "}",
        };
        for (String bad : malformed) {
            Expect.fails(Json.Malformed.class, () -> Json.object(bad));
        }
    }

    @Claim("waits double, have a limit, and take the longer of two")
    void waits() {
        RetryPolicy policy = new RetryPolicy();
        double[] expected = {1, 2, 4, 8, 10, 10};
        for (int index = 0; index < expected.length; index++) {
            Expect.equal(policy.wait(index + 1, null, 10, null, 0), expected[index]);
        }
        Expect.equal(policy.wait(1, 60.0, 10, null, 0), 60.0);
        Expect.equal(policy.wait(1, null, 10, null, 1), 1.25);
        Expect.equal(policy.wait(Integer.MAX_VALUE, null, 1e10, null, 0), Math.pow(2, 30));
    }
}
