package net.adocd.agent.http;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.util.HashSet;
import java.util.Set;
import jdk.net.ExtendedSocketOptions;

/** Who may talk to this process: root, its own user, the user adocd, and the uids that were allowed. */
public final class Peers {
    private final Set<UserPrincipal> allowed = new HashSet<>();

    /** {@code allowedUids}: numbers with commas between them, as in ADOCD_ALLOW_UIDS. */
    public Peers(String allowedUids) {
        allow("0");
        allow(effectiveUid());
        allow("adocd");
        for (String uid : allowedUids.split(",")) {
            if (uid.strip().matches("[0-9]{1,10}")) {
                allow(uid.strip());
            }
        }
    }

    /** The JDK compares users by their uid, and looks up a number as one. */
    private void allow(String user) {
        try {
            allowed.add(FileSystems.getDefault().getUserPrincipalLookupService().lookupPrincipalByName(user));
        } catch (IOException unknown) {
            return;
        }
    }

    /** Tells whether the process at the other end may talk to this one. */
    boolean allows(SocketChannel connection) {
        try {
            return allowed.contains(connection.getOption(ExtendedSocketOptions.SO_PEERCRED).user());
        } catch (IOException | UnsupportedOperationException unreadable) {
            return false;
        }
    }

    /** Returns this process's effective uid in decimals, "-1" where /proc cannot be read. */
    public static String effectiveUid() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith("Uid:")) {
                    return line.split("\\s+")[2];
                }
            }
        } catch (IOException unreadable) {
            return "-1";
        }
        return "-1";
    }

    /** Returns the name of this process's effective user, its uid where it has none. */
    public static String userName() {
        try {
            UserPrincipal owner = Files.getOwner(Path.of("/proc/self/status"));
            return owner.getName();
        } catch (IOException unreadable) {
            return effectiveUid();
        }
    }
}
