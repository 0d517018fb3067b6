package dev.sallyport.client;

import android.content.Context;
import android.content.SharedPreferences;
import android.content.pm.PackageInfo;
import android.content.pm.PackageManager;
import android.security.keystore.KeyPermanentlyInvalidatedException;
import com.facebook.react.bridge.NativeModule;
import com.facebook.react.bridge.Promise;
import com.facebook.react.bridge.ReactApplicationContext;
import dev.sallyport.expo.SallyportModule;
import dev.sallyport.expo.SallyportPackage;
import java.io.File;
import java.nio.file.Files;
import java.security.Security;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The module of React Native over simulated parts of Android. */
public final class ExpoModuleTests {
    private static final String GATEWAY = "https://gateway.example";

    /** An app's context with files and preferences. */
    private static final class AppContext extends ReactApplicationContext {
        private final FakePreferences preferences = new FakePreferences();
        private final File folder;

        AppContext(File folder) {
            this.folder = folder;
        }

        @Override
        public SharedPreferences getSharedPreferences(String name, int mode) {
            Expect.equal(mode, Context.MODE_PRIVATE);
            return preferences;
        }

        @Override
        public File getNoBackupFilesDir() {
            return folder;
        }

        @Override
        public String getPackageName() {
            return "com.example.app";
        }

        @Override
        public PackageManager getPackageManager() {
            return new PackageManager() {
                @Override
                public PackageInfo getPackageInfo(String name, int flags) {
                    return new PackageInfo();
                }
            };
        }
    }

    private final SallyportModule module;

    public ExpoModuleTests() throws Exception {
        List<NativeModule> modules = new SallyportPackage().createNativeModules(
                new AppContext(Files.createTempDirectory("expo").toFile()));
        Expect.equal(modules.size(), 1);
        module = (SallyportModule) modules.get(0);
        Expect.equal(module.getName(), "SallyportKeys");
    }

    public static void main(String[] arguments) {
        AllTests.run(ExpoModuleTests.class);
    }

    /** The outcome of a call: its value, or the code of its failure. */
    private static Object outcome(Consumer<Promise> call) throws Exception {
        CompletableFuture<Object> outcome = new CompletableFuture<>();
        call.accept(new Promise() {
            @Override
            public void resolve(Object value) {
                outcome.complete(value);
            }

            @Override
            public void reject(String code, Throwable error) {
                outcome.complete("rejected " + code);
            }
        });
        return outcome.get(60, TimeUnit.SECONDS);
    }

    @Claim("the module keeps a state and a ticket, each in its place")
    void texts() throws Exception {
        Expect.equal(outcome(promise -> module.loadState(GATEWAY, promise)), null);
        Expect.equal(outcome(promise -> module.saveState(GATEWAY, "state", promise)), null);
        Expect.equal(outcome(promise -> module.saveTicket(GATEWAY, "ticket", promise)), null);
        Expect.equal(outcome(promise -> module.loadState(GATEWAY, promise)), "state");
        Expect.equal(outcome(promise -> module.loadTicket(GATEWAY, promise)), "ticket");
        Expect.equal(outcome(promise -> module.loadState("no URL", promise)), "rejected other");
    }

    @Claim("the module says which app it is of")
    void app() throws Exception {
        Map<?, ?> info = (Map<?, ?>) outcome(module::appInfo);
        Expect.equal(info.get("name"), "com.example.app");
        Expect.equal(info.get("system"), "14");
    }

    @Claim("the module says the kind of a failure of the Keystore")
    void failures() throws Exception {
        FakeProvider.reset();
        Security.removeProvider("AndroidKeyStore");
        Security.addProvider(new FakeProvider());
        Expect.equal(outcome(module::isSupported), true);
        Expect.equal(
                outcome(promise -> module.sign("absent", "{}", promise)),
                "rejected lost:keyMissing");
        Expect.equal(outcome(promise -> module.deleteKey("absent", promise)), null);
        Expect.equal(
                outcome(promise -> module.create("alias", "no base64", promise)),
                "rejected unknown:invalidChallenge");
        Expect.isTrue(outcome(promise -> module.create("alias", "AQID", promise)) instanceof List);
        FakeProvider.useFailure = new KeyPermanentlyInvalidatedException();
        Expect.equal(
                outcome(promise -> module.sign("alias", "{}", promise)),
                "rejected lost:keyPermanentlyInvalidated");
        module.invalidate();
    }
}
