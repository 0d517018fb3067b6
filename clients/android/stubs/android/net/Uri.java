package android.net;

/** An origin, as docs/client/web.md gets it. */
public abstract class Uri {}
