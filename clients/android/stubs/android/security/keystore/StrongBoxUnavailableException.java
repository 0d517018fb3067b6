package android.security.keystore;

import java.security.ProviderException;

public class StrongBoxUnavailableException extends ProviderException {
    private static final long serialVersionUID = 1;
}
