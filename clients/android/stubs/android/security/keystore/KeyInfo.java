package android.security.keystore;

import java.security.spec.KeySpec;

public class KeyInfo implements KeySpec {
    private final boolean isInsideSecureHardware;

    /** For tests: apps cannot make one. */
    public KeyInfo(boolean isInsideSecureHardware) {
        this.isInsideSecureHardware = isInsideSecureHardware;
    }

    public boolean isInsideSecureHardware() {
        return isInsideSecureHardware;
    }
}
