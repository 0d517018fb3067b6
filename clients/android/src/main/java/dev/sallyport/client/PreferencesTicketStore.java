package dev.sallyport.client;

import android.content.SharedPreferences;
import java.io.IOException;

/**
 * Keeps the ticket in preferences, which Auto Backup restores after a reinstall if the user has a
 * backup. Do not exclude them in the app's rules for backups.
 */
public final class PreferencesTicketStore implements TicketStore {
    private static final String NAME = "ticket";

    private final SharedPreferences preferences;

    public PreferencesTicketStore(SharedPreferences preferences) {
        this.preferences = preferences;
    }

    @Override
    public String load() throws IOException {
        try {
            return preferences.getString(NAME, null);
        } catch (RuntimeException error) {
            // Before the first unlock, or if another type is under this name.
            throw new IOException(error);
        }
    }

    @Override
    public void save(String ticket) throws IOException {
        if (!preferences.edit().putString(NAME, ticket).commit()) {
            throw new IOException("cannot write the preferences");
        }
    }
}
