package net.adocd.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;

class SettingsTest {
    @Test
    void argumentsBeatTheEnvironment() {
        Map<String, String> environment = Map.of("ADOCD_RUN_DIR", "/e", "XDG_RUNTIME_DIR", "/x");
        Settings settings = new Settings("run_dir=/a=b, allow_uids=1+2,nonsense", environment::get);
        assertEquals("/a=b", settings.get("ADOCD_RUN_DIR"));
        assertEquals("1,2", settings.get("ADOCD_ALLOW_UIDS"));
        assertEquals("/x", settings.get("XDG_RUNTIME_DIR"));
        assertEquals("", settings.get("ADOCD_AGENT"));
        assertEquals("/e", new Settings(null, environment::get).get("ADOCD_RUN_DIR"));
    }
}
