package dev.sallyport.client;

import java.io.IOException;

/** Lets the client play against {@code sallyport-lab trial}, on a simulated phone. */
public final class LabTrial {
    private static final int COUNT_MAX = 200;

    private final String gateway;
    private final TicketStore tickets = new Tickets();
    private StateStore store = new StateStore.Memory();

    private LabTrial(String gateway) {
        this.gateway = gateway;
    }

    /** Keeps the ticket beyond a reinstall. */
    private static final class Tickets implements TicketStore {
        private String ticket;

        @Override
        public String load() {
            return ticket;
        }

        @Override
        public void save(String ticket) {
            this.ticket = ticket;
        }
    }

    /** @param arguments The trial's URL, and those of {@link LabPhone}. */
    public static void main(String[] arguments) throws Exception {
        new LabPhone(arguments[1], arguments[2], arguments[3], arguments[4]).switchOn();
        System.exit(new LabTrial(arguments[0]).isOver() ? 0 : 1);
    }

    /** Starts the app, with what it has saved. */
    private AttestClient start() {
        Parts parts = new Parts(
                new DeviceKeyStore(), store, new ConnectionTransport(),
                new AppInfo("com.example.app", "410", "14"));
        parts.tickets = tickets;
        return new AttestClient(new Configuration.Builder(gateway).build(), parts);
    }

    private boolean isOver() throws InterruptedException {
        AttestClient client = start();
        String url = gateway + "/api/trial";
        for (int number = 0; number < COUNT_MAX; number++) {
            try {
                Response response = client.send(
                        Request.post(url, Body.of("{\"n\":" + number + "}")));
                String word = response.header("X-Trial");
                if ("over".equals(word)) {
                    return true;
                }
                if ("reinstall".equals(word)) {
                    store = new StateStore.Memory();
                }
                if ("restart".equals(word) || "reinstall".equals(word)) {
                    client = start();
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
