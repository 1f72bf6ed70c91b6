package net.adocd.agent.http;

import java.io.IOException;
import java.net.ConnectException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.UUID;
import net.adocd.agent.Settings;

/** Where the socket goes, and how it gets there: the same rules as the other agents'. */
public final class RunDirectory {
    private static final Path SYSTEM_DIRECTORY = Path.of("/run/adocd");
    /** A Unix socket's path, with its closing NUL, must fit into sockaddr_un (unix(7)). */
    private static final int SUN_PATH_BYTES = 108;
    private static final int BACKLOG = 128;
    private static final int MAX_NAMES = 100;
    private static final FileAttribute<Set<PosixFilePermission>> OURS =
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private RunDirectory() { }

    /** A socket that listens, and its path. */
    public record Listening(ServerSocketChannel channel, Path path) {
        /** Gives the channel back. */
        public void close() {
            closeQuietly(channel);
        }
    }

    /** Why there is no socket, in one sentence without its full stop. */
    public static final class CannotListenException extends Exception {
        private static final long serialVersionUID = 1;

        CannotListenException(String message) {
            super(message, null, false, false);
        }
    }

    /** Finds the run directory by the protocol's rule; root creates /run/adocd. */
    public static Path find(Settings settings) throws CannotListenException {
        String chosen = settings.get("ADOCD_RUN_DIR");
        if (!chosen.isEmpty()) {
            if (!chosen.startsWith("/")) {
                throw new CannotListenException(
                    "ADOCD_RUN_DIR must be a whole path, not '" + chosen + "': a daemon would look elsewhere");
            }
            if (isUsable(Path.of(chosen))) {
                return Path.of(chosen);
            }
            throw new CannotListenException(
                "ADOCD_RUN_DIR is '" + chosen + "', which is no directory this process may write to; create it");
        }
        if (Peers.effectiveUid().equals("0") && !Files.isDirectory(SYSTEM_DIRECTORY)) {
            createSystemDirectory();
        }
        if (isUsable(SYSTEM_DIRECTORY)) {
            return SYSTEM_DIRECTORY;
        }
        String runtime = settings.get("XDG_RUNTIME_DIR");
        if (!runtime.isEmpty()) {
            Path path = Path.of(runtime, "adocd");
            try {
                Files.createDirectory(path, OURS);
            } catch (IOException there) { // or it cannot be made: then it is not usable
                path = Path.of(runtime, "adocd");
            }
            if (isUsable(path)) {
                return path;
            }
        }
        throw new CannotListenException("no run directory: " + SYSTEM_DIRECTORY
            + " cannot be written and XDG_RUNTIME_DIR gives none; set ADOCD_RUN_DIR");
    }

    private static boolean isUsable(Path path) {
        return Files.isDirectory(path) && Files.isWritable(path) && Files.isExecutable(path);
    }

    private static void createSystemDirectory() {
        try {
            Files.createDirectory(SYSTEM_DIRECTORY, OURS);
            GroupPrincipal group = SYSTEM_DIRECTORY.getFileSystem().getUserPrincipalLookupService()
                .lookupPrincipalByGroupName("adocd");
            Files.getFileAttributeView(SYSTEM_DIRECTORY, PosixFileAttributeView.class).setGroup(group);
        } catch (IOException noSuchGroup) {
            if (!Files.isDirectory(SYSTEM_DIRECTORY)) {
                return;
            }
        }
        try { // after the change of the group, which clears the set-group-ID bit
            Files.setAttribute(SYSTEM_DIRECTORY, "unix:mode", 02770);
        } catch (IOException refused) {
            return;
        }
    }

    /**
     * Listens in a directory of our own, where nobody can swap the socket for a link while it gets its mode, and gives
     * it the name {@code agent-<pid>.sock} once it does.
     */
    public static Listening listen(Path directory) throws CannotListenException {
        Path base = directory.resolve("agent-" + ProcessHandle.current().pid());
        if ((base + "-" + MAX_NAMES + ".sock").getBytes(StandardCharsets.UTF_8).length >= SUN_PATH_BYTES) {
            throw new CannotListenException("the socket path " + base + ".sock is longer than a Unix socket's may be ("
                + (SUN_PATH_BYTES - 1) + " bytes); set ADOCD_RUN_DIR to a shorter one");
        }
        Path ours = directory.resolve("." + UUID.randomUUID().toString().substring(0, 8));
        Path temporary = ours.resolve("new");
        ServerSocketChannel channel = null;
        try {
            Files.createDirectory(ours, OURS);
            channel = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
            channel.bind(UnixDomainSocketAddress.of(temporary), BACKLOG);
            Files.setPosixFilePermissions(temporary, PosixFilePermissions.fromString("rw-rw----"));
            return new Listening(channel, takeName(temporary, base));
        } catch (IOException error) {
            closeQuietly(channel);
            throw new CannotListenException("cannot listen in " + directory + ": " + error.getMessage());
        } finally {
            removeQuietly(temporary);
            removeQuietly(ours);
        }
    }

    private static Path takeName(Path temporary, Path base) throws IOException {
        for (int number = 1; number < MAX_NAMES; number++) {
            Path name = Path.of(number == 1 ? base + ".sock" : base + "-" + number + ".sock");
            try {
                return Files.createLink(name, temporary); // unlike a rename, never replaces another agent's
            } catch (FileAlreadyExistsException taken) {
                if (!isAlive(name)) { // left behind by an earlier process of this pid
                    return Files.move(temporary, name, StandardCopyOption.REPLACE_EXISTING);
                }
            } catch (UnsupportedOperationException | IOException noLinks) {
                return Files.move(temporary, name, StandardCopyOption.REPLACE_EXISTING);
            }
        }
        throw new IOException("every name from " + base + ".sock on is taken by a living agent");
    }

    /** Only who is refused knows that nobody listens: another user's agent may not be asked. */
    private static boolean isAlive(Path name) {
        try (SocketChannel probe = SocketChannel.open(UnixDomainSocketAddress.of(name))) {
            return probe.isConnected();
        } catch (ConnectException refused) {
            return false;
        } catch (IOException unknown) {
            return Files.exists(name, LinkOption.NOFOLLOW_LINKS);
        }
    }

    private static void closeQuietly(ServerSocketChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException closed) {
            return;
        }
    }

    private static void removeQuietly(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException left) {
            return;
        }
    }
}
