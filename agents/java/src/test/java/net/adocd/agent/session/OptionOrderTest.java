package net.adocd.agent.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OptionOrderTest {
    private static final Map<String, String> THERE = Map.of(
        "level0_file_num_compaction_trigger", "4", "level0_slowdown_writes_trigger", "20",
        "level0_stop_writes_trigger", "36", "min_write_buffer_number_to_merge", "2", "max_write_buffer_number", "4");

    private static Hindrance find(Map<String, String> options, Map<String, String> there) {
        OptionState current = new OptionState();
        current.columnFamilies.put("default", there);
        return OptionOrder.findConflict(new Change.Family("default", options), current);
    }

    @ParameterizedTest
    @CsvSource({
        "level0_file_num_compaction_trigger,20,21,level0_slowdown_writes_trigger",
        "level0_slowdown_writes_trigger,4,3,level0_file_num_compaction_trigger",
        "level0_stop_writes_trigger,4,3,level0_file_num_compaction_trigger",
        "max_write_buffer_number,3,2,min_write_buffer_number_to_merge"})
    void whatWouldBeOutOfOrderIsFound(String option, String right, String wrong, String other) {
        assertNull(find(Map.of(option, right), THERE));
        assertEquals(Set.of(option, other), find(Map.of(option, wrong), THERE).atOdds());
    }

    @Test
    void whatChangesTogetherCountsTogether() {
        assertNull(find(Map.of("level0_file_num_compaction_trigger", "30", "level0_slowdown_writes_trigger", "30"),
            THERE));
    }

    @Test
    void aChangeOfOtherOptionsIsNotHeldUpByWhatTheHostDid() {
        assertNull(find(Map.of("write_buffer_size", "1"),
            Map.of("level0_file_num_compaction_trigger", "40", "level0_stop_writes_trigger", "36")));
    }
}
