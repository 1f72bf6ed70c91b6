package net.adocd.agent.rocksdb;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import net.adocd.agent.session.DatabaseClosedException;

/**
 * The newest OPTIONS file of a database's directory, read again only when there is a newer one.
 *
 * <p>RocksDB writes a new OPTIONS-nnnnnn at open, at every SetOptions and SetDBOptions and when a column family is
 * created or dropped; until it is complete it has another name.
 */
final class OptionsReader {
    private static final Pattern NAME = Pattern.compile("OPTIONS-[0-9]+");
    private static final int TRIES = 10;
    /** A directory's time stamp is final when it is this old: the file system's clock ticks in milliseconds. */
    private static final long SETTLED_MS = 100;

    private final Path directory;
    private long listedNs = -1;
    private String key;
    private OptionsFile parsed;

    OptionsReader(Path directory) {
        this.directory = directory;
    }

    /**
     * Returns the newest file's contents; {@code fresh}: checks even if the directory seems unchanged.
     *
     * <p>Throws DatabaseClosedException if there is no file: the directory was removed, which no database survives.
     */
    synchronized OptionsFile read(boolean fresh) throws DatabaseClosedException {
        for (int attempt = 0; attempt < TRIES; attempt++) {
            try {
                return readOnce(fresh || attempt > 0);
            } catch (NoSuchFileException removed) { // between our listing and our reading: list again
                continue;
            } catch (IOException error) {
                break;
            }
        }
        if (parsed == null) {
            throw new DatabaseClosedException();
        }
        return parsed;
    }

    private OptionsFile readOnce(boolean fresh) throws IOException {
        long changedNs = Files.getLastModifiedTime(directory).to(TimeUnit.NANOSECONDS);
        if (parsed != null && !fresh && changedNs == listedNs) {
            return parsed;
        }
        Path newest = newest();
        BasicFileAttributes status = Files.readAttributes(newest, BasicFileAttributes.class);
        String found = newest.getFileName() + " " + status.lastModifiedTime().to(TimeUnit.NANOSECONDS)
            + " " + status.size();
        if (!found.equals(key)) {
            parsed = OptionsFile.parse(new String(Files.readAllBytes(newest), StandardCharsets.UTF_8));
            key = found;
        }
        boolean settled = System.currentTimeMillis() - TimeUnit.NANOSECONDS.toMillis(changedNs) > SETTLED_MS;
        listedNs = settled ? changedNs : -1;
        return parsed;
    }

    private Path newest() throws IOException {
        Path newest = null;
        long highest = -1;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "OPTIONS-*")) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                if (NAME.matcher(name).matches() && Long.parseLong(name.substring(8)) > highest) {
                    highest = Long.parseLong(name.substring(8));
                    newest = file;
                }
            }
        }
        if (newest == null) {
            throw new NoSuchFileException(directory.toString());
        }
        return newest;
    }
}
