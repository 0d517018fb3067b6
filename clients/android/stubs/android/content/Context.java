package android.content;

import android.content.pm.PackageManager;
import java.io.File;

public abstract class Context {
    public static final int MODE_PRIVATE = 0;

    public abstract SharedPreferences getSharedPreferences(String name, int mode);

    public abstract File getNoBackupFilesDir();

    public abstract String getPackageName();

    public abstract PackageManager getPackageManager();
}
