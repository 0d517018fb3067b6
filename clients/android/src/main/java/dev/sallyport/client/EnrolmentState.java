package dev.sallyport.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The state of an enrolment that is kept between launches. */
final class EnrolmentState {
    /** The progress of a key. */
    enum Stage {
        NONE,
        /** The phone has made and attested the key; the gateway has not confirmed it yet. */
        MADE,
        ENROLLED
    }

    private static final double FORMAT = 1;

    Stage stage = Stage.NONE;
    /** The number of the key's alias, 0 or 1. A new key takes the other one. */
    int slot;
    /** Null if there is no key. */
    String keyId;
    /** The challenge and the chain in base64, for the stage {@code MADE}. */
    String challenge;
    List<String> chain = Collections.emptyList();
    /** The number of failures in a row, of the enrolment or later of the key's signatures. */
    int failures;
    /** The number of keys in a row that turned out to be useless before they were enrolled. */
    int uselessKeys;
    /** The end of a time in which nothing is tried, in milliseconds; 0 for none. */
    long waitUntil;
    /** The length of that time, which reveals if the clock was set back since. */
    long waitLength;
    /** The time at which a key was last given up, in milliseconds; 0 for never. */
    long renewedAt;
    /** True if the phone cannot attest keys. It is asked again after the wait. */
    boolean isUnsupported;
    /** The gateway's advice for trying again after failures of the phone; null for none. */
    RetryAdvice advice;

    boolean isEnrolled() {
        return stage == Stage.ENROLLED;
    }

    EnrolmentState copy() {
        EnrolmentState copy = new EnrolmentState();
        copy.stage = stage;
        copy.slot = slot;
        copy.keyId = keyId;
        copy.challenge = challenge;
        copy.chain = chain;
        copy.failures = failures;
        copy.uselessKeys = uselessKeys;
        copy.waitUntil = waitUntil;
        copy.waitLength = waitLength;
        copy.renewedAt = renewedAt;
        copy.isUnsupported = isUnsupported;
        copy.advice = advice;
        return copy;
    }

    /** Forgets a key that turned out to be useless before it was enrolled. */
    void dropUselessKey() {
        dropKey();
        uselessKeys++;
    }

    /** The key is useless. */
    void dropKey() {
        stage = Stage.NONE;
        keyId = null;
        challenge = null;
        chain = Collections.emptyList();
    }

    void wait(long now, double seconds) {
        waitLength = (long) (seconds * 1000);
        waitUntil = now + waitLength;
    }

    String text() {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("format", FORMAT);
        members.put("stage", stage.name());
        members.put("slot", slot);
        members.put("key_id", keyId);
        members.put("challenge", challenge);
        members.put("chain", chain);
        members.put("failures", failures);
        members.put("useless_keys", uselessKeys);
        members.put("wait_until", waitUntil);
        members.put("wait_length", waitLength);
        members.put("renewed_at", renewedAt);
        members.put("unsupported", isUnsupported);
        members.put("advice", advice == null ? null : advice.members());
        return Json.write(members);
    }

    /** A state in another form counts as none: a new key follows. */
    static EnrolmentState of(String text) {
        EnrolmentState state = new EnrolmentState();
        try {
            Map<String, Object> members = Json.object(text);
            if (number(members, "format") != FORMAT) {
                return state;
            }
            state.slot = number(members, "slot") == 1 ? 1 : 0;
            state.failures = (int) number(members, "failures");
            state.uselessKeys = (int) number(members, "useless_keys");
            state.waitUntil = (long) number(members, "wait_until");
            state.waitLength = (long) number(members, "wait_length");
            state.renewedAt = (long) number(members, "renewed_at");
            state.isUnsupported = Boolean.TRUE.equals(members.get("unsupported"));
            state.advice = RetryAdvice.of(Json.object(members, "advice"));
            state.takeKey(members);
        } catch (Json.Malformed error) {
            return new EnrolmentState();
        }
        return state;
    }

    private void takeKey(Map<String, Object> members) {
        String name = Json.string(members, "stage");
        keyId = Json.string(members, "key_id");
        challenge = Json.string(members, "challenge");
        if (members.get("chain") instanceof List) {
            chain = new ArrayList<>();
            for (Object certificate : (List<?>) members.get("chain")) {
                chain.add(String.valueOf(certificate));
            }
        }
        if (keyId != null && Stage.ENROLLED.name().equals(name)) {
            stage = Stage.ENROLLED;
        } else if (keyId != null && challenge != null && Stage.MADE.name().equals(name)) {
            stage = Stage.MADE;
        } else {
            dropKey();
        }
    }

    private static double number(Map<String, Object> members, String name) {
        Double value = Json.number(members, name);
        return value == null ? 0 : value;
    }
}
