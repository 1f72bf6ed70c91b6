package net.adocd.agent.rocksdb;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import net.adocd.agent.http.Peers;

/** What this process's open files tell about a database. */
final class HostFiles {
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");
    /** OPTIONS and LOG take about 20 KB for each column family: enough for hundreds, and little on any disk. */
    private static final long NEEDED_MIB = 8;

    private HostFiles() { }

    private static List<String> open() {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> links = Files.newDirectoryStream(DESCRIPTORS)) {
            for (Path link : links) {
                try {
                    names.add(Files.readSymbolicLink(link).toString());
                } catch (IOException closed) {
                    continue;
                }
            }
        } catch (IOException unreadable) {
            return names;
        }
        return names;
    }

    /**
     * Tells whether this process has the database open for writing: only then does it keep the LOCK file open. Compares
     * only names, because opening and closing the file here would release RocksDB's own lock on it (fcntl(2)).
     */
    static boolean hasLock(Path database) {
        return open().contains(database.resolve("LOCK").toString());
    }

    /** Returns the databases that this process has open for writing, by their LOCK files. */
    static List<Path> lockedDirectories() {
        List<Path> found = new ArrayList<>();
        for (String name : open()) {
            Path file = name.startsWith("/") ? Path.of(name) : null;
            if (file != null && file.endsWith("LOCK") && Files.exists(file.resolveSibling("CURRENT"))) {
                found.add(file.getParent());
            }
        }
        return found;
    }

    /**
     * Returns where RocksDB writes its LOG. With db_log_dir the file's name contains the database's path as the host
     * wrote it, which is unknown here, but the open files show it.
     */
    static Path logPath(Path database, String logDirectory) {
        if (logDirectory.isEmpty() || canonical(Path.of(logDirectory)).equals(database)) {
            return database.resolve("LOG");
        }
        Path directory = canonical(Path.of(logDirectory));
        List<Path> found = new ArrayList<>();
        for (String name : open()) {
            if (name.startsWith(directory + "/") && name.endsWith("_LOG")) {
                found.add(Path.of(name));
            }
        }
        String usual = database.toString().substring(1).replace('/', '_') + "_LOG";
        return found.size() == 1 ? found.get(0) : directory.resolve(usual);
    }

    /**
     * Tells where space is lacking for a change of options, as the native agent does; null if nowhere. RocksDB writes
     * OPTIONS and LOG at each, and before 10 a record into its MANIFEST: if that fails, the database takes no more
     * writes.
     */
    static String lackOfSpace(List<Path> directories) {
        for (Path each : directories) {
            File directory = each.toFile();
            long free = Peers.effectiveUid().equals("0") ? directory.getFreeSpace() : directory.getUsableSpace();
            if (directory.getTotalSpace() > 0 && free < NEEDED_MIB << 20) { // else it is unknown
                return "less than " + NEEDED_MIB + " MiB are free for " + each
                    + ", and RocksDB writes OPTIONS and LOG at each change; make room";
            }
        }
        return null;
    }

    /** Returns a path without links; as it is where it does not exist. */
    static Path canonical(Path path) {
        try {
            return path.toRealPath();
        } catch (IOException missing) {
            return path.toAbsolutePath();
        }
    }
}
