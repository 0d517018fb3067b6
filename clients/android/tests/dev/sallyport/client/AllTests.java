package dev.sallyport.client;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs every test, from the root of the repository, and prints a line for each. The exit code is 1
 * if one failed.
 */
public final class AllTests {
    private static final Class<?>[] SUITES = {
        BehaviourTests.class, BytesTests.class, DeviceKeyStoreTests.class, EnrolmentTests.class,
        GrpcTests.class, KeyTests.class, OkHttpTests.class, RefusalTests.class,
        ReportTests.class, RequestTests.class, StackPage.class, TextKeysTests.class,
        TicketTests.class, TokenTests.class, TransportTests.class, UnprovedTests.class,
        VectorTests.class
    };
    private static final int PATIENCE_SECONDS = 60;

    private AllTests() {}

    public static void main(String[] arguments) {
        // Otherwise each answer waits for the acknowledgement of its head.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        run(SUITES);
    }

    /** Runs the tests of some suites, and ends the process. */
    static void run(Class<?>... suites) {
        int failures = 0;
        ExecutorService threads = Executors.newCachedThreadPool(work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        });
        for (Class<?> suite : suites) {
            Method[] methods = suite.getDeclaredMethods();
            Arrays.sort(methods, Comparator.comparing(Method::getName));
            for (Method method : methods) {
                Claim claim = method.getAnnotation(Claim.class);
                if (claim == null) {
                    continue;
                }
                Throwable failure = failure(threads, suite, method);
                String name = suite.getSimpleName() + ": " + claim.value();
                System.out.println((failure == null ? "ok " : "not ok ") + name);
                if (failure != null) {
                    failures++;
                    failure.printStackTrace(System.out);
                }
            }
        }
        System.out.println(failures + " failures");
        System.exit(failures == 0 ? 0 : 1);
    }

    private static Throwable failure(ExecutorService threads, Class<?> suite, Method method) {
        Callable<Object> test = () -> {
            Object instance = suite.getDeclaredConstructor().newInstance();
            try {
                return method.invoke(instance);
            } finally {
                if (instance instanceof AutoCloseable) {
                    ((AutoCloseable) instance).close();
                }
            }
        };
        Future<Object> outcome = threads.submit(test);
        try {
            outcome.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            return null;
        } catch (ExecutionException error) {
            Throwable cause = error.getCause();
            return cause instanceof InvocationTargetException ? cause.getCause() : cause;
        } catch (TimeoutException | InterruptedException error) {
            outcome.cancel(true);
            return error;
        }
    }
}
