package net.adocd.agent.session;

import java.util.Map;
import java.util.Set;

/**
 * The options of one RocksDB.
 *
 * @param columnFamily those that SetOptions takes here, with their kinds
 * @param database those that SetDBOptions takes here, with their kinds
 * @param notLive those that exist but cannot be changed while RocksDB runs, by scope
 * @param unchecked those that RocksDB may change but this agent does not, with the reason
 */
public record Catalogue(
    Map<String, OptionKind> columnFamily,
    Map<String, OptionKind> database,
    Map<String, Set<String>> notLive,
    Map<String, String> unchecked) { }
