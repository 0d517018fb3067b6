package dev.sallyport.client;

import java.io.IOException;

final class TicketTests extends Site {
    private final FakePreferences preferences = new FakePreferences();

    TicketTests() throws IOException {}

    /** A client as after a reinstall, which loses the state and not the preferences. */
    private AttestClient reinstalled() {
        Parts parts = parts();
        parts.store = new StateStore.Memory();
        parts.tickets = new PreferencesTicketStore(preferences);
        return new AttestClient(settings.build(), parts);
    }

    private Object broughtTicket() throws Exception {
        return Json.object(gateway.last("/attest/verify").text()).get("installation");
    }

    @Claim("a ticket is kept, brought with the next key, and replaced by the next one")
    void kept() throws Exception {
        AttestClient first = reinstalled();
        first.enrol();
        Expect.equal(broughtTicket(), null);
        AttestClient second = reinstalled();
        second.enrol();
        Expect.equal(broughtTicket(), "ticket of " + first.keyId());
        reinstalled().enrol();
        Expect.equal(broughtTicket(), "ticket of " + second.keyId());
    }

    @Claim("a gateway that gives no tickets is served as before")
    void earlierGateway() throws Exception {
        gateway.givesTickets = false;
        Expect.equal(send(reinstalled()), 200);
        Expect.equal(send(reinstalled()), 200);
        Expect.equal(broughtTicket(), null);
    }

    @Claim("a store that fails keeps no key from being enrolled")
    void locked() throws Exception {
        preferences.isLocked = true;
        Expect.equal(send(reinstalled()), 200);
        preferences.isLocked = false;
        Expect.equal(new PreferencesTicketStore(preferences).load(), null);
    }

    @Claim("without a store there is no ticket")
    void none() throws Exception {
        client().enrol();
        client().reset();
        client().enrol();
        Expect.equal(broughtTicket(), null);
    }
}
