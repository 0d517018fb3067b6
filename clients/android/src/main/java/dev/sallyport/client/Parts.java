package dev.sallyport.client;

import android.content.Context;
import java.io.File;
import java.nio.charset.StandardCharsets;

/** The parts of a client that tests and apps may replace. */
public final class Parts {
    public AttestedKeyStore keys;
    public StateStore store;
    public TicketStore tickets = TicketStore.NONE;
    public Transport transport;
    public ClientClock clock = ClientClock.SYSTEM;
    public AppInfo app;

    public Parts(AttestedKeyStore keys, StateStore store, Transport transport, AppInfo app) {
        this.keys = keys;
        this.store = store;
        this.transport = transport;
        this.app = app;
    }

    /**
     * The phone's own parts: its key store with StrongBox if there is one, a file that is in no
     * backup, preferences for the ticket that are in backups, and {@code HttpURLConnection}.
     */
    public static Parts ofDevice(Context context, Configuration configuration) {
        byte[] hash = Body.sha256(configuration.gateway.getBytes(StandardCharsets.UTF_8));
        String name = Base64.urlSafe(Base64.encode(hash)).substring(0, 16);
        Parts parts = new Parts(
                new DeviceKeyStore(),
                new FileStore(new File(context.getNoBackupFilesDir(), "sallyport-" + name)),
                new ConnectionTransport(), AppInfo.of(context));
        parts.tickets = new PreferencesTicketStore(context.getSharedPreferences(
                "sallyport-ticket-" + name, Context.MODE_PRIVATE));
        return parts;
    }
}
