package net.adocd.agent.hook;

import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import net.adocd.agent.rocksdb.Registry;

/** The hooks in RocksDB's classes, and what they tell. */
public final class Hooks {
    private final Instrumentation instrumentation;
    private final Weaver weaver;

    /** Puts the hooks into the classes that are loaded from now on; they tell the registry. */
    public Hooks(Instrumentation instrumentation, Registry registry) {
        this.instrumentation = instrumentation;
        HookPlacer placer = new HookPlacer(instrumentation, hook -> connect(hook, registry));
        this.weaver = new Weaver(placer);
        instrumentation.addTransformer(weaver, true);
    }

    private static void connect(Class<?> hook, Registry registry) {
        try {
            hook.getField("opened").set(null, (Consumer<Object>) registry::opened);
            hook.getField("options").set(null, (BiConsumer<Object, Object>) registry::options);
            hook.getField("closing").set(null, (Consumer<Object>) registry::closing);
            hook.getField("dropping").set(null, (BiConsumer<Object, Object>) registry::dropping);
            hook.getField("handleMade").set(null, (Consumer<Object>) registry::handleMade);
            hook.getField("disposing").set(null, (Consumer<Object>) registry::disposing);
            hook.getField("seen").set(null, (Consumer<Object>) registry::seen);
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /**
     * Weaves the classes that are loaded already; {@code observing}: their methods report whose they are, until this is
     * called again without. Returns whether there was any. A class at a time: each stops the process for some
     * milliseconds.
     */
    public boolean weaveLoaded(boolean observing) {
        weaver.observe(observing);
        List<Class<?>> found = new ArrayList<>();
        for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
            if (Weaver.isWoven(loaded.getName().replace('.', '/'))) {
                found.add(loaded);
            }
        }
        for (Class<?> each : found) {
            try {
                instrumentation.retransformClasses(each);
            } catch (UnmodifiableClassException | LinkageError refused) {
                continue;
            }
        }
        return !found.isEmpty();
    }
}
