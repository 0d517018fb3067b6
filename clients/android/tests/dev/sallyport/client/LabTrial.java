package dev.sallyport.client;

import java.io.IOException;

/** Lets the client play against {@code sallyport-lab trial}, on a simulated phone. */
public final class LabTrial {
    private static final int COUNT_MAX = 200;

    private LabTrial() {}

    /** @param arguments The trial's URL, and those of {@link LabPhone}. */
    public static void main(String[] arguments) throws Exception {
        new LabPhone(arguments[1], arguments[2], arguments[3], arguments[4]).switchOn();
        AttestClient client = new AttestClient(
                new Configuration.Builder(arguments[0]).build(),
                new Parts(
                        new DeviceKeyStore(), new StateStore.Memory(), new ConnectionTransport(),
                        new AppInfo("com.example.app", "410", "14")));
        System.exit(isOver(client, arguments[0] + "/api/trial") ? 0 : 1);
    }

    private static boolean isOver(AttestClient client, String url) throws InterruptedException {
        for (int number = 0; number < COUNT_MAX; number++) {
            try {
                Response response = client.send(
                        Request.post(url, Body.of("{\"n\":" + number + "}")));
                if ("over".equals(response.header("X-Trial"))) {
                    return true;
                }
            } catch (ClientException.TryLater later) {
                Thread.sleep(Math.max(0, later.until - System.currentTimeMillis()));
            } catch (IOException error) {
                System.err.println(number + " " + error);
            }
        }
        return false;
    }
}
