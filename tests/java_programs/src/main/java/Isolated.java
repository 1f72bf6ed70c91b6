import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;

/** Runs Lifecycle in a class loader that asks only the JDK's for what it lacks, as plug-in systems do. */
public final class Isolated {
    private Isolated() { }

    public static void main(String[] arguments) throws Exception {
        List<URL> places = new ArrayList<>();
        for (String place : System.getProperty("java.class.path").split(File.pathSeparator)) {
            places.add(new File(place).toURI().toURL());
        }
        ClassLoader loader = new URLClassLoader(places.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
        Thread.currentThread().setContextClassLoader(loader);
        loader.loadClass("Lifecycle").getMethod("main", String[].class).invoke(null, (Object) arguments);
    }
}
