package android.os;

public class Build {
    /** Not final, so that a test can be of any version. */
    public static class VERSION {
        public static int SDK_INT = 34;
        public static String RELEASE = "14";
    }
}
