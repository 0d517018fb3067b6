package dev.sallyport.client;

import android.content.Context;
import android.content.pm.PackageManager;
import android.os.Build;

/** The versions that failure reports name. Unknown ones are empty. */
public final class AppInfo {
    /** The package's name. */
    public final String name;
    /** The version code. */
    public final String version;
    /** The version of Android, such as 14. */
    public final String system;

    public AppInfo(String name, String version, String system) {
        this.name = name;
        this.version = version;
        this.system = system;
    }

    @SuppressWarnings("deprecation")
    static AppInfo of(Context context) {
        String name = context.getPackageName();
        String version = "";
        try {
            version += context.getPackageManager().getPackageInfo(name, 0).versionCode;
        } catch (PackageManager.NameNotFoundException error) {
            // The report goes without.
        }
        return new AppInfo(name, version, Build.VERSION.RELEASE);
    }
}
