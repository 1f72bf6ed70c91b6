package net.adocd.agent.session;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OptionKindTest {
    @ParameterizedTest
    @ValueSource(strings = {
        "12x", "1e7", "-5", "", " 5", "5 ", "+5", "0x10", "4M", "1.5", "05", "18446744073709551616", "٣"})
    void whatCWouldReadAsAnotherSizeIsNotAccepted(String value) {
        assertFalse(OptionKind.SIZE.accepts(value));
    }

    @Test
    void rangesAreThoseOfTheTypes() {
        assertTrue(OptionKind.SIZE.accepts("18446744073709551615"));
        assertTrue(OptionKind.INT.accepts("-2147483648"));
        assertFalse(OptionKind.INT.accepts("2147483648"));
        assertTrue(OptionKind.UINT8.accepts("255"));
        assertFalse(OptionKind.UINT8.accepts("256"));
        assertFalse(OptionKind.JOBS.accepts("0"));
        assertTrue(OptionKind.JOBS_OR_AUTOMATIC.accepts("-1"));
        assertFalse(OptionKind.DELAYED_RATE.accepts("0"));
    }

    @Test
    void fractionsHaveSixDecimals() {
        assertTrue(OptionKind.DOUBLE.accepts("10.000000"));
        assertFalse(OptionKind.DOUBLE.accepts("10"));
        assertFalse(OptionKind.DOUBLE.accepts("nan"));
        assertTrue(OptionKind.MULTIPLIER.accepts("1.000000"));
        assertFalse(OptionKind.MULTIPLIER.accepts("0.999999"));
    }

    @Test
    void textsAreExact() {
        assertTrue(OptionKind.OFFPEAK.accepts(""));
        assertTrue(OptionKind.OFFPEAK.accepts("23:30-04:00"));
        assertFalse(OptionKind.OFFPEAK.accepts("24:00-04:00"));
        assertTrue(OptionKind.INTS.accepts("1:2:3"));
        assertFalse(OptionKind.INTS.accepts("1:{2}"));
        assertFalse(OptionKind.BOOL.accepts("TRUE"));
    }
}
