package net.adocd.agent.service;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;

class TargetTest {
    @Test
    void pathAndQueryAreDecoded() {
        assertEquals(new Target("/a b", Map.of("x", "ä +", "y", "", "z", "")),
            Target.of("/a%20b?x=%C3%A4+%2B&y=&z"));
    }

    @Test
    void theLastValueOfANameCounts() {
        assertEquals(Map.of("x", "2"), Target.of("/?x=1&x=2").query());
    }

    @Test
    void aHostIsIgnoredAndABrokenEscapeStays() {
        assertEquals("/v1/info", Target.of("http://agent/v1/info").path());
        assertEquals("/", Target.of("http://agent").path());
        assertEquals("/100%", Target.of("/100%").path());
        assertEquals("//v1", Target.of("//v1").path());
    }
}
