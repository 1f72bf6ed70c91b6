package net.adocd.agent.rocksdb;

import java.nio.charset.StandardCharsets;

/** The id of a database, which survives restarts. */
public final class Identity {
    private static final long OFFSET = 0xCBF29CE484222325L;
    private static final long PRIME = 0x100000001B3L;

    private Identity() { }

    /** Hashes host name, canonical path and DB identity, as the contract defines it. */
    public static String of(String host, String path, String identity) {
        return fnv1a64((host + "\0" + path + "\0" + identity).getBytes(StandardCharsets.UTF_8));
    }

    /** FNV-1a, 64 bits, 16 lower-case hexadecimal digits. */
    static String fnv1a64(byte[] data) {
        long value = OFFSET;
        for (byte each : data) {
            value = (value ^ (each & 0xFF)) * PRIME;
        }
        return String.format("%016x", value);
    }
}
