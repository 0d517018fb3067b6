package dev.sallyport.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** The client against the cases of {@code docs/client/behaviour.md}, which every client obeys. */
final class BehaviourTests {
    private static List<Object> rows() throws Exception {
        Map<String, Object> document = Json.object(new String(
                Files.readAllBytes(Path.of("docs/client/behaviour-cases.json")),
                StandardCharsets.UTF_8));
        return BehaviourWorld.list(document, "cases");
    }

    @Claim("does what the cases say")
    void cases() throws Exception {
        List<String> faults = new ArrayList<>();
        int count = 0;
        for (Object entry : rows()) {
            Map<String, Object> row = BehaviourWorld.members(entry);
            String platform = Json.string(row, "platform");
            if (platform == null || platform.equals("android")) {
                count++;
                faults.addAll(faults(row));
            }
        }
        Expect.isTrue(count > 50);
        Expect.equal(faults, Collections.emptyList());
    }

    private static List<String> faults(Map<String, Object> row) throws Exception {
        BehaviourWorld world = new BehaviourWorld();
        world.isSupported = !Boolean.FALSE.equals(row.get("supported"));
        AttestClient client = world.client();
        for (Object event : BehaviourWorld.list(row, "given")) {
            outcome(world, client, BehaviourWorld.members(event));
        }
        String state = world.state();
        world.actions.clear();
        String result = outcome(world, client, BehaviourWorld.members(row.get("event")));
        List<String> faults = new ArrayList<>();
        compare(row, "state", state, faults);
        compare(row, "actions", world.actions, faults);
        compare(row, "result", result, faults);
        compare(row, "nextState", world.state(), faults);
        return faults;
    }

    private static void compare(
            Map<String, Object> row, String name, Object found, List<String> faults) {
        if (!found.equals(row.get(name))) {
            faults.add("\n" + row.get("name") + ": " + name + " is " + found + ", not "
                    + row.get(name));
        }
    }

    /** Carries an event out, and says how it ended. */
    private static String outcome(
            BehaviourWorld world, AttestClient client, Map<String, Object> event)
            throws IOException {
        world.prepare(event);
        try {
            switch (Json.string(event, "call")) {
                case "wait":
                    world.advance(Json.number(event, "seconds"));
                    return "ok";
                case "enrol":
                    client.enrol();
                    return "ok";
                case "reset":
                    client.reset();
                    return "ok";
                default:
                    String method = Json.string(event, "method");
                    int status = client.send(
                            new Request(method == null ? "GET" : method, BehaviourWorld.URL, null),
                            "token".equals(Json.string(event, "proof"))
                                    ? AttestClient.Proof.SESSION_TOKEN
                                    : AttestClient.Proof.ASSERTION).status;
                    return status == 200 ? "ok" : "answer " + status;
            }
        } catch (ClientException.Refused error) {
            return "refused " + error.refusal.code;
        } catch (ClientException.TryLater error) {
            return "tryLater";
        } catch (ClientException.Unsupported error) {
            return "unsupported";
        } catch (BehaviourWorld.Lost error) {
            return "network";
        }
    }
}
