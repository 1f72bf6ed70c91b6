package net.adocd.agent.hook;

import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Makes the hook class visible to the class loaders that have a RocksDB. Most see the agent's jar; one that does not
 * ask its parents, as in plug-in systems, gets a copy of its own.
 */
final class HookPlacer {
    private final Instrumentation instrumentation;
    private final Consumer<Class<?>> connect;
    /** The hook classes that have listeners; weak, because a loader may be unloaded. */
    private final List<WeakReference<Class<?>>> connected = new ArrayList<>();
    private boolean ended;

    /** {@code connect} sets a hook class's listeners. */
    HookPlacer(Instrumentation instrumentation, Consumer<Class<?>> connect) {
        this.instrumentation = instrumentation;
        this.connect = connect;
        connect(Hook.class);
    }

    private synchronized void connect(Class<?> hook) {
        if (!ended && connected.stream().noneMatch(each -> each.get() == hook)) {
            connect.accept(hook);
            connected.add(new WeakReference<>(hook));
        }
    }

    /** Takes their listeners from all hook classes; none gets any more. */
    synchronized void end(Consumer<Class<?>> disconnect) {
        ended = true;
        for (WeakReference<Class<?>> each : connected) {
            Class<?> hook = each.get();
            if (hook != null) {
                disconnect.accept(hook);
            }
        }
        connected.clear();
    }

    /** Makes it visible to this loader. Throws where that cannot be done. */
    void place(ClassLoader loader) throws ReflectiveOperationException, IOException {
        if (loader == Hook.class.getClassLoader()) {
            return;
        }
        try {
            connect(Class.forName(Hook.class.getName(), false, loader)); // ours, or a copy that is there from before
        } catch (ClassNotFoundException unseen) {
            connect(define(loader));
        }
    }

    private Class<?> define(ClassLoader loader) throws ReflectiveOperationException, IOException {
        byte[] code;
        try (InputStream found = Hook.class.getResourceAsStream("Hook.class")) {
            code = found.readAllBytes();
        }
        // What an agent may do (java.lang.instrument): open a package of the JDK to itself.
        instrumentation.redefineModule(Object.class.getModule(), Set.of(), Map.of(),
            Map.of("java.lang", Set.of(HookPlacer.class.getModule())), Set.of(), Map.of());
        Method define = ClassLoader.class.getDeclaredMethod(
            "defineClass", String.class, byte[].class, int.class, int.class, ProtectionDomain.class);
        define.setAccessible(true);
        return (Class<?>) define.invoke(loader, Hook.class.getName(), code, 0, code.length, null);
    }
}
