package net.adocd.agent.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.adocd.agent.rocksdb.Registry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

class HooksTest {
    private static final String OBJECT = "org/rocksdb/RocksObject";
    private static final String HANDLE = "org/rocksdb/ColumnFamilyHandle";
    private static final String DATABASE = "org/rocksdb/RocksDB";
    private static final String TRANSACTIONS = "org/rocksdb/TransactionDB";

    private final Loader loader = new Loader();
    private final List<String> order = new ArrayList<>();
    private final Set<String> refused = new HashSet<>();
    private final Registry registry = new Registry(() -> { });
    private final Hooks hooks = new Hooks(instrumentation(), registry);
    private ClassFileTransformer transformer;

    /** Has classes of RocksDB's names and relations. */
    private static final class Loader extends ClassLoader {
        final Map<String, byte[]> code = new HashMap<>();

        Loader() {
            super(HooksTest.class.getClassLoader());
        }

        Class<?> define(String name, String parent) {
            ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
            writer.visit(Opcodes.V1_8, Opcodes.ACC_PUBLIC, name, null, parent, null);
            MethodVisitor made = writer.visitMethod(Opcodes.ACC_PUBLIC, "<init>", "()V", null, null);
            made.visitCode();
            made.visitVarInsn(Opcodes.ALOAD, 0);
            made.visitMethodInsn(Opcodes.INVOKESPECIAL, parent, "<init>", "()V", false);
            made.visitInsn(Opcodes.RETURN);
            made.visitMaxs(0, 0);
            MethodVisitor owning = writer.visitMethod(Opcodes.ACC_PUBLIC, "isOwningHandle", "()Z", null, null);
            owning.visitCode();
            owning.visitInsn(Opcodes.ICONST_1);
            owning.visitInsn(Opcodes.IRETURN);
            owning.visitMaxs(0, 0);
            byte[] written = writer.toByteArray();
            code.put(name, written);
            return defineClass(name.replace('/', '.'), written, 0, written.length);
        }
    }

    /** An instrumentation of the loader's classes; it only tells the transformer, and keeps the classes as they are. */
    private Instrumentation instrumentation() {
        return (Instrumentation) Proxy.newProxyInstance(
            HooksTest.class.getClassLoader(), new Class<?>[] {Instrumentation.class}, (proxy, method, arguments) -> {
                switch (method.getName()) {
                    case "addTransformer":
                        transformer = (ClassFileTransformer) arguments[0];
                        return null;
                    case "getAllLoadedClasses":
                        List<Class<?>> loaded = new ArrayList<>();
                        for (String name : List.of(DATABASE, TRANSACTIONS, HANDLE, OBJECT)) {
                            loaded.add(loader.loadClass(name.replace('/', '.')));
                        }
                        return loaded.toArray(Class<?>[]::new);
                    case "retransformClasses":
                        retransform(((Class<?>[]) arguments[0])[0]);
                        return null;
                    default:
                        return method.getReturnType() == boolean.class ? Boolean.TRUE : null;
                }
            });
    }

    private void retransform(Class<?> type) throws Exception {
        String name = type.getName().replace('.', '/');
        order.add(name);
        if (refused.contains(name)) {
            throw new UnmodifiableClassException();
        }
        transformer.transform(loader, name, type, null, loader.code.get(name));
    }

    private Object database() throws ReflectiveOperationException {
        loader.define(OBJECT, "java/lang/Object");
        loader.define(HANDLE, OBJECT);
        Class<?> database = loader.define(DATABASE, OBJECT);
        loader.define(TRANSACTIONS, DATABASE);
        return database.getConstructor().newInstance();
    }

    @AfterEach
    void end() {
        hooks.end();
    }

    @Test
    void whatIsDisposedOfIsHookedBeforeWhatReportsIt() throws ReflectiveOperationException {
        Object database = database();
        Hook.seen(database);
        assertEquals(0, registry.open().size(), "its close would not be heard of yet");
        hooks.weaveLoaded(true);
        assertEquals(List.of(OBJECT, HANDLE, TRANSACTIONS, DATABASE), order);
        Hook.seen(database);
        assertEquals(1, registry.open().size());
    }

    @Test
    void aDatabaseWhoseDisposalIsNotHookedIsLeftAlone() throws ReflectiveOperationException {
        Object database = database();
        refused.add(OBJECT);
        hooks.weaveLoaded(true);
        Hook.seen(database);
        Hook.opened(database);
        assertEquals(0, registry.open().size());
    }
}
