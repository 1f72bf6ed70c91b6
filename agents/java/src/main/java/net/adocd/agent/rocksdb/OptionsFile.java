package net.adocd.agent.rocksdb;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The contents of one OPTIONS file (options/options_parser.cc), which has the values in force of all column families.
 *
 * @param rocksdbVersion the version that wrote it
 * @param database the section DBOptions
 * @param columnFamilies the sections CFOptions by column family
 */
public record OptionsFile(
    String rocksdbVersion, Map<String, String> database, Map<String, Map<String, String>> columnFamilies) {

    private static final Pattern SECTION = Pattern.compile("\\[([^\" ]+)(?: \"(.*)\")?\\]");

    /** Reads an OPTIONS file's text. */
    public static OptionsFile parse(String text) {
        String version = "";
        Map<String, String> database = new LinkedHashMap<>();
        Map<String, Map<String, String>> families = new LinkedHashMap<>();
        Map<String, String> section = new LinkedHashMap<>();
        for (String raw : text.split("\n")) {
            String line = raw.strip();
            if (line.isEmpty() || line.startsWith("#")) {
                continue;
            }
            Matcher heading = SECTION.matcher(line);
            if (heading.matches()) {
                section = switch (heading.group(1)) {
                    case "DBOptions" -> database;
                    case "CFOptions" -> families.computeIfAbsent(
                        unescape(heading.group(2) == null ? "" : heading.group(2)), name -> new LinkedHashMap<>());
                    default -> new LinkedHashMap<>();
                };
                continue;
            }
            int equals = line.indexOf('=');
            if (equals > 0) {
                String name = line.substring(0, equals);
                section.put(name, unescape(line.substring(equals + 1)));
                if (name.equals("rocksdb_version")) {
                    version = line.substring(equals + 1);
                }
            }
        }
        return new OptionsFile(version, database, families);
    }

    /** Returns the version as numbers that compare: 9.7.3 is 9007. */
    public int versionNumber() {
        Matcher found = Pattern.compile("(\\d+)\\.(\\d+).*").matcher(rocksdbVersion);
        return found.matches() ? Integer.parseInt(found.group(1)) * 1000 + Integer.parseInt(found.group(2)) : 0;
    }

    private static String unescape(String text) {
        if (text.indexOf('\\') < 0) {
            return text;
        }
        StringBuilder found = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char each = text.charAt(i);
            if (each == '\\' && i + 1 < text.length()) {
                i++;
                each = switch (text.charAt(i)) {
                    case 'n' -> '\n';
                    case 'r' -> '\r';
                    default -> text.charAt(i);
                };
            }
            found.append(each);
        }
        return found.toString();
    }
}
