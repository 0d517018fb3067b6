package dev.sallyport.expo;

import com.facebook.react.bridge.Arguments;
import com.facebook.react.bridge.Promise;
import com.facebook.react.bridge.ReactApplicationContext;
import com.facebook.react.bridge.ReactContextBaseJavaModule;
import com.facebook.react.bridge.ReactMethod;
import com.facebook.react.bridge.WritableArray;
import com.facebook.react.bridge.WritableMap;
import dev.sallyport.client.Configuration;
import dev.sallyport.client.DeviceKeyStore;
import dev.sallyport.client.KeyException;
import dev.sallyport.client.Parts;
import dev.sallyport.client.TextKeys;
import java.io.IOException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The phone's keys and files for the client in TypeScript. All arguments and results are texts;
 * bytes are in base64.
 */
public final class SallyportModule extends ReactContextBaseJavaModule {
    private interface Call {
        Object run() throws IOException;
    }

    private final TextKeys keys = new TextKeys(new DeviceKeyStore());
    /** The Keystore may take seconds, and other modules share React Native's own thread. */
    private final ExecutorService worker = Executors.newSingleThreadExecutor();

    public SallyportModule(ReactApplicationContext context) {
        super(context);
    }

    @Override
    public String getName() {
        return "SallyportKeys";
    }

    @Override
    public void invalidate() {
        worker.shutdown();
        super.invalidate();
    }

    private void answer(Promise promise, Call call) {
        worker.execute(() -> {
            try {
                promise.resolve(call.run());
            } catch (KeyException error) {
                promise.reject(TextKeys.code(error), error);
            } catch (IOException | RuntimeException error) {
                promise.reject("other", error);
            }
        });
    }

    private Parts parts(String gateway) {
        return Parts.ofDevice(
                getReactApplicationContext(), new Configuration.Builder(gateway).build());
    }

    @ReactMethod
    public void isSupported(Promise promise) {
        answer(promise, keys::isSupported);
    }

    @ReactMethod
    public void create(String alias, String challenge, Promise promise) {
        answer(promise, () -> {
            WritableArray texts = Arguments.createArray();
            for (String text : keys.create(alias, challenge)) {
                texts.pushString(text);
            }
            return texts;
        });
    }

    @ReactMethod
    public void sign(String alias, String clientData, Promise promise) {
        answer(promise, () -> keys.sign(alias, clientData));
    }

    @ReactMethod
    public void deleteKey(String alias, Promise promise) {
        answer(promise, () -> {
            keys.delete(alias);
            return null;
        });
    }

    @ReactMethod
    public void loadState(String gateway, Promise promise) {
        answer(promise, () -> parts(gateway).store.load());
    }

    @ReactMethod
    public void saveState(String gateway, String text, Promise promise) {
        answer(promise, () -> {
            parts(gateway).store.save(text);
            return null;
        });
    }

    @ReactMethod
    public void loadTicket(String gateway, Promise promise) {
        answer(promise, () -> parts(gateway).tickets.load());
    }

    @ReactMethod
    public void saveTicket(String gateway, String text, Promise promise) {
        answer(promise, () -> {
            parts(gateway).tickets.save(text);
            return null;
        });
    }

    @ReactMethod
    public void appInfo(Promise promise) {
        answer(promise, () -> {
            // The versions are the same for each gateway.
            Parts parts = parts("https://localhost");
            WritableMap map = Arguments.createMap();
            map.putString("name", parts.app.name);
            map.putString("version", parts.app.version);
            map.putString("system", parts.app.system);
            return map;
        });
    }
}
