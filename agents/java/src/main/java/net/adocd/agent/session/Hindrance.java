package net.adocd.agent.session;

import java.util.Set;

/**
 * Why a change must not be made.
 *
 * @param why in words that follow "Not executed:"
 * @param atOdds the options that do not go together; if there are none, the change can be made later
 */
record Hindrance(String why, Set<String> atOdds) {
    boolean passes() {
        return atOdds.isEmpty();
    }
}
