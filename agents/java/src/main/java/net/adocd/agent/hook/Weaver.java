package net.adocd.agent.hook;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Adds calls of {@link Hook} to RocksDB's classes: at the ends of constructors and drops, and at the beginnings of
 * close, drop and disposal. Nothing on a read or a write, but while databases are looked for that were open before.
 */
public final class Weaver implements ClassFileTransformer {
    private static final String PACKAGE = "org/rocksdb/";
    private static final String HANDLE = PACKAGE + "ColumnFamilyHandle";
    private static final String OBJECT = PACKAGE + "RocksObject";
    private static final String DATABASE = PACKAGE + "RocksDB";
    private static final String TTL = PACKAGE + "TtlDB";
    private static final Set<String> DATABASES = Set.of(
        DATABASE, PACKAGE + "TransactionDB", PACKAGE + "OptimisticTransactionDB", TTL);
    private static final String HOOK = Type.getInternalName(Hook.class);

    private final HookPlacer placer;
    /** The classes with the calls, by their loader, which the host may unload. */
    private final Map<ClassLoader, Set<String>> woven = Collections.synchronizedMap(new WeakHashMap<>());
    /** Loaded classes that were just woven: in force when retransformClasses returns. */
    private final Set<Class<?>> rewoven = ConcurrentHashMap.newKeySet();
    private volatile boolean observing;

    Weaver(HookPlacer placer) {
        this.placer = placer;
    }

    /** Whether the public methods of databases report whose they are; for classes woven from now on. */
    void observe(boolean wanted) {
        observing = wanted;
    }

    /** Tells whether calls are added to the class of this internal name. */
    static boolean isWoven(String name) {
        return DATABASES.contains(name) || HANDLE.equals(name) || OBJECT.equals(name);
    }

    /**
     * Returns in which order loaded classes are woven: what is disposed of must be heard of before any method reports
     * it, and most of a database's methods are RocksDB's own.
     */
    static int order(String name) {
        return name.equals(OBJECT) ? 0 : name.equals(HANDLE) ? 1 : name.equals(DATABASE) ? 3 : 2;
    }

    /** Tells whether all calls are in force in a class and in its superclasses; else a disposal could be missed. */
    boolean isHooked(Class<?> type) {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            String name = Type.getInternalName(each);
            if (isWoven(name) && !woven.getOrDefault(each.getClassLoader(), Set.of()).contains(name)) {
                return false;
            }
        }
        return true;
    }

    /** A loaded class was to be woven; {@code done}: without an error. */
    void retransformed(Class<?> type, boolean done) {
        if (rewoven.remove(type) && done) {
            note(type.getClassLoader(), Type.getInternalName(type));
        }
    }

    private void note(ClassLoader loader, String name) {
        woven.computeIfAbsent(loader, added -> ConcurrentHashMap.newKeySet()).add(name);
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] code) {
        if (name == null || !name.startsWith(PACKAGE) || !isWoven(name)) {
            return null;
        }
        try {
            placer.place(loader);
            byte[] added = woven(name, code, observing);
            if (redefined == null) {
                note(loader, name);
            } else {
                rewoven.add(redefined);
            }
            return added;
        } catch (Exception | LinkageError mistake) { // the class stays as it is, and the host goes on
            return null;
        }
    }

    /** Returns the class with the calls; {@code observing}: with those for finding databases, too. */
    static byte[] woven(String name, byte[] code, boolean observing) {
        ClassReader reader = new ClassReader(code);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(
                    int access, String method, String descriptor, String signature, String[] exceptions) {
                MethodVisitor inner = super.visitMethod(access, method, descriptor, signature, exceptions);
                if ((access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) != 0) {
                    return inner;
                }
                if ((access & Opcodes.ACC_STATIC) == 0) {
                    return new Calls(inner, name, access, method, descriptor, observing);
                }
                return DATABASES.contains(name) ? ofStatic(inner, name, method, descriptor) : inner;
            }
        }, 0);
        return writer.toByteArray();
    }

    private static MethodVisitor ofStatic(MethodVisitor inner, String name, String method, String descriptor) {
        if (method.equals("openReadOnly") || method.equals("openAsSecondary")) {
            return new ReadOnlyCall(inner, -1);
        }
        if (!method.equals("open") || !hasOptionsFirst(descriptor)) {
            return inner;
        }
        // TtlDB's last argument says whether it is only read; all before it have one slot each.
        Type[] arguments = Type.getArgumentTypes(descriptor);
        boolean says = name.equals(TTL) && arguments[arguments.length - 1] == Type.BOOLEAN_TYPE;
        return new OptionsCall(says ? new ReadOnlyCall(inner, arguments.length - 1) : inner);
    }

    private static boolean hasOptionsFirst(String descriptor) {
        return descriptor.startsWith("(L" + PACKAGE + "Options;")
            || descriptor.startsWith("(L" + PACKAGE + "DBOptions;");
    }

    /** Reports the options of a static open: TtlDB of rocksdbjni 7 stores none in the database. */
    private static final class OptionsCall extends MethodVisitor {
        OptionsCall(MethodVisitor inner) {
            super(Opcodes.ASM9, inner);
        }

        @Override
        public void visitInsn(int opcode) {
            if (opcode == Opcodes.ARETURN) {
                super.visitInsn(Opcodes.DUP);
                super.visitVarInsn(Opcodes.ALOAD, 0);
                super.visitMethodInsn(
                    Opcodes.INVOKESTATIC, HOOK, "options", "(Ljava/lang/Object;Ljava/lang/Object;)V", false);
            }
            super.visitInsn(opcode);
        }
    }

    /** Reports an instance that shares the directory of a writer. */
    private static final class ReadOnlyCall extends MethodVisitor {
        private final int slot;

        /** {@code slot} has the argument that says whether it is one; -1: it is. */
        ReadOnlyCall(MethodVisitor inner, int slot) {
            super(Opcodes.ASM9, inner);
            this.slot = slot;
        }

        @Override
        public void visitInsn(int opcode) {
            if (opcode == Opcodes.ARETURN) {
                super.visitInsn(Opcodes.DUP);
                if (slot < 0) {
                    super.visitInsn(Opcodes.ICONST_1);
                } else {
                    super.visitVarInsn(Opcodes.ILOAD, slot);
                }
                super.visitMethodInsn(Opcodes.INVOKESTATIC, HOOK, "readOnly", "(Ljava/lang/Object;Z)V", false);
            }
            super.visitInsn(opcode);
        }
    }

    /** Adds the calls to one method. */
    private static final class Calls extends MethodVisitor {
        private final String owner;
        private final int access;
        private final String method;
        private final String descriptor;
        private final boolean observing;
        /** Where the program's own code begins. */
        private final Label begin = new Label();

        Calls(MethodVisitor inner, String owner, int access, String method, String descriptor, boolean observing) {
            super(Opcodes.ASM9, inner);
            this.owner = owner;
            this.access = access;
            this.method = method;
            this.descriptor = descriptor;
            this.observing = observing;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            boolean ofDatabase = DATABASES.contains(owner);
            if (ofDatabase && (method.equals("close") || method.equals("closeE")) && descriptor.equals("()V")) {
                call("closing");
            } else if (isDrop()) {
                callWithArgument("dropping");
                super.visitLabel(begin);
            } else if (!ofDatabase && method.equals("disposeInternal") && descriptor.equals("()V")) {
                call("disposing");
            } else if (ofDatabase && observing && access(Opcodes.ACC_PUBLIC) && !method.equals("<init>")) {
                call("seen");
                callWithHandles();
            }
        }

        @Override
        public void visitInsn(int opcode) {
            if (opcode == Opcodes.RETURN) {
                if (method.equals("<init>") && owner.equals(DATABASE)) {
                    call("opened");
                } else if (method.equals("<init>") && owner.equals(HANDLE)) {
                    call("handleMade");
                } else if (method.equals("storeOptionsInstance") && owner.equals(DATABASE)) {
                    callWithArgument("options");
                } else if (isDrop()) {
                    callWithArgument("dropped");
                }
            }
            super.visitInsn(opcode);
        }

        private boolean isDrop() {
            return owner.equals(DATABASE) && access(Opcodes.ACC_PUBLIC) && (
                method.equals("dropColumnFamily") && descriptor.equals("(L" + HANDLE + ";)V")
                || method.equals("dropColumnFamilies") && descriptor.equals("(Ljava/util/List;)V"));
        }

        /** Reports a drop that throws: the column family is still there. */
        @Override
        public void visitMaxs(int maxStack, int maxLocals) {
            if (isDrop()) {
                Label thrown = new Label();
                super.visitLabel(thrown);
                super.visitTryCatchBlock(begin, thrown, thrown, "java/lang/Throwable");
                Object[] locals = {owner, Type.getArgumentTypes(descriptor)[0].getInternalName()};
                super.visitFrame(Opcodes.F_FULL, locals.length, locals, 1, new Object[] {"java/lang/Throwable"});
                callWithArgument("kept");
                super.visitInsn(Opcodes.ATHROW);
            }
            super.visitMaxs(maxStack, maxLocals);
        }

        private boolean access(int flag) {
            return (access & flag) != 0;
        }

        private void call(String hook) {
            super.visitVarInsn(Opcodes.ALOAD, 0);
            super.visitMethodInsn(Opcodes.INVOKESTATIC, HOOK, hook, "(Ljava/lang/Object;)V", false);
        }

        private void callWithArgument(String hook) {
            super.visitVarInsn(Opcodes.ALOAD, 0);
            super.visitVarInsn(Opcodes.ALOAD, 1);
            super.visitMethodInsn(
                Opcodes.INVOKESTATIC, HOOK, hook, "(Ljava/lang/Object;Ljava/lang/Object;)V", false);
        }

        /** Reports the handles that a method gets: the host made them before the agent came. */
        private void callWithHandles() {
            int slot = 1;
            for (Type argument : Type.getArgumentTypes(descriptor)) {
                if (argument.getDescriptor().equals("L" + HANDLE + ";")) {
                    super.visitVarInsn(Opcodes.ALOAD, slot);
                    super.visitMethodInsn(
                        Opcodes.INVOKESTATIC, HOOK, "handleMade", "(Ljava/lang/Object;)V", false);
                }
                slot += argument.getSize();
            }
        }
    }
}
