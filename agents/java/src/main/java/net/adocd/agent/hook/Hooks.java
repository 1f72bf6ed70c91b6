package net.adocd.agent.hook;

import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import net.adocd.agent.rocksdb.Registry;

/** The hooks in RocksDB's classes, and what they tell. */
public final class Hooks {
    private final Instrumentation instrumentation;
    private final HookPlacer placer;
    private final Weaver weaver;

    /** Puts the hooks into the classes that are loaded from now on; they tell the registry. */
    public Hooks(Instrumentation instrumentation, Registry registry) {
        this.instrumentation = instrumentation;
        this.placer = new HookPlacer(instrumentation, hook -> connect(hook, registry));
        this.weaver = new Weaver(placer);
        registry.trustOnly(weaver::isHooked);
        instrumentation.addTransformer(weaver, true);
    }

    private static void connect(Class<?> hook, Registry registry) {
        set(hook, "opened", (Consumer<Object>) registry::opened);
        set(hook, "options", (BiConsumer<Object, Object>) registry::options);
        set(hook, "readOnly", (Consumer<Object>) registry::readOnly);
        set(hook, "closing", (Consumer<Object>) registry::closing);
        set(hook, "dropping", (BiConsumer<Object, Object>) registry::dropping);
        set(hook, "dropped", (BiConsumer<Object, Object>) registry::dropped);
        set(hook, "kept", (BiConsumer<Object, Object>) registry::kept);
        set(hook, "handleMade", (Consumer<Object>) registry::handleMade);
        set(hook, "disposing", (Consumer<Object>) registry::disposing);
        set(hook, "seen", (Consumer<Object>) registry::seen);
    }

    private static void disconnect(Class<?> hook) {
        for (Field listener : hook.getFields()) {
            set(hook, listener.getName(), null);
        }
    }

    private static void set(Class<?> hook, String listener, Object value) {
        try {
            hook.getField(listener).set(null, value);
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Takes the hooks out again: RocksDB's classes are as their loaders defined them, and nothing is told any more. */
    public void end() {
        instrumentation.removeTransformer(weaver);
        placer.end(Hooks::disconnect);
        weaveLoaded(false);
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
        found.sort(Comparator.comparingInt(each -> Weaver.order(each.getName().replace('.', '/'))));
        for (Class<?> each : found) {
            boolean done = false;
            try {
                instrumentation.retransformClasses(each);
                done = true;
            } catch (UnmodifiableClassException | LinkageError refused) { // the registry takes up nothing of it
                continue;
            } finally {
                weaver.retransformed(each, done);
            }
        }
        return !found.isEmpty();
    }
}
