package dev.sallyport.client;

import java.io.IOException;

/**
 * A store for the ticket that the gateway gives with each enrolment.
 *
 * <p>A new key that is enrolled with the ticket takes the place of the old one: it keeps the
 * installation's id, user, quotas and age. So keep the ticket where it survives a reinstall: in
 * Auto Backup, as {@link PreferencesTicketStore} does, in Block Store, or with the account on your
 * own server. A ticket is for one phone. If two phones use one, the second becomes another
 * installation, and the key of the first is replaced.
 */
public interface TicketStore {
    /** Returns the ticket that was saved last; null if there is none. */
    String load() throws IOException;

    /** Saves a ticket of some hundred bytes. */
    void save(String ticket) throws IOException;

    /** Keeps no ticket: after a reinstall the app is another installation. */
    TicketStore NONE = new TicketStore() {
        @Override
        public String load() {
            return null;
        }

        @Override
        public void save(String ticket) {}
    };
}
