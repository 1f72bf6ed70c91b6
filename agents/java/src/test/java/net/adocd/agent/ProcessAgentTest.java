package net.adocd.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ProcessAgentTest {
    private final ProcessAgent agent = new ProcessAgent(new Settings("", name -> null));
    /** The agent refers to it only weakly. */
    private Object database;

    /** What the agent takes for a database that was open before it. */
    public static final class Database {
        /** As RocksObject's. */
        public boolean isOwningHandle() {
            return true;
        }
    }

    /** A loader in which there is no RocksDB, and at first no memory to look for one. */
    private static final class Loader extends ClassLoader {
        final AtomicInteger looked = new AtomicInteger();
        private final int shortages;

        Loader(int shortages) {
            super(ProcessAgentTest.class.getClassLoader());
            this.shortages = shortages;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("org.rocksdb.")) {
                if (looked.incrementAndGet() <= shortages) {
                    throw new OutOfMemoryError("of the test");
                }
                throw new ClassNotFoundException(name);
            }
            return name.equals(Database.class.getName()) ? database() : super.loadClass(name, resolve);
        }

        private Class<?> database() throws ClassNotFoundException {
            try (InputStream found = Database.class.getResourceAsStream("ProcessAgentTest$Database.class")) {
                byte[] code = found.readAllBytes();
                return defineClass(Database.class.getName(), code, 0, code.length);
            } catch (IOException unreadable) {
                throw new ClassNotFoundException(unreadable.getMessage());
            }
        }
    }

    private Loader begin(int shortages) throws ReflectiveOperationException, InterruptedException {
        agent.start(() -> { });
        return open(shortages);
    }

    private Loader open(int shortages) throws ReflectiveOperationException, InterruptedException {
        Loader loader = new Loader(shortages);
        database = loader.loadClass(Database.class.getName()).getConstructor().newInstance();
        agent.registry().seen(database);
        for (int waited = 0; waited < 500 && loader.looked.get() <= shortages; waited++) {
            Thread.sleep(10);
        }
        return loader;
    }

    private static Thread sampler() {
        return Thread.getAllStackTraces().keySet().stream()
            .filter(each -> each.getName().equals("adocd-sample")).findAny().orElseThrow();
    }

    @AfterEach
    void end() throws InterruptedException {
        agent.detach();
        assertTrue(AgentThread.awaitOthers(5_000));
        agent.letGo();
    }

    @Test
    void theSamplingThreadOutlivesAFullHeap() throws ReflectiveOperationException, InterruptedException {
        assertEquals(4, begin(3).looked.get(), "tried again until it could be told that there is none");
    }

    @Test
    void whereNoDatabaseCanBeServedItSleeps() throws ReflectiveOperationException, InterruptedException {
        begin(0);
        Thread sampler = sampler();
        long untilNs = System.nanoTime() + 60_000_000_000L; // it may still be at work
        while (sampler.getState() != Thread.State.WAITING && System.nanoTime() < untilNs) {
            Thread.sleep(5);
        }
        for (int looked = 0; looked < 50; looked++) {
            assertEquals(Thread.State.WAITING, sampler.getState(), "until a hook wakes it, and not for some time");
            Thread.sleep(3);
        }
    }

    @Test
    void anInterruptOfAllThreadsDoesNotEndTheSamplingThread()
            throws ReflectiveOperationException, InterruptedException {
        begin(0);
        sampler().interrupt();
        Thread.sleep(200);
        assertEquals(1, open(0).looked.get(), "it takes up the next database");
    }
}
