package net.adocd.agent.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
    private static Object parse(String text) throws JsonException {
        return JsonParser.parse(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void everyKindOfValueIsRead() throws JsonException {
        Object read = parse(" {\"a\": [1, -2.5e1, true, false, null, \"x\\u00e9\\n\\\"\"], \"b\": {}} ");
        Map<String, Object> expected = new LinkedHashMap<>();
        expected.put("a", Arrays.asList(1L, -25.0, true, false, null, "xé\n\""));
        expected.put("b", Map.of());
        assertEquals(expected, read);
    }

    @Test
    void wholeNumbersAreExact() throws JsonException {
        assertEquals(Long.MAX_VALUE, parse("9223372036854775807"));
        assertEquals(new BigInteger("1180591620717411303424"), parse("1180591620717411303424"));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "", " ", "{", "[", "[1,]", "{\"a\"}", "{\"a\":1,}", "nul", "NaN", "Infinity", "01", "1.", ".5", "1e", "+1", "-",
        "\"", "\"\\x\"", "\"\\u12g4\"", "\"\n\"", "1 2", "'a'", "[1 2]", "{1:2}", "tru", "--1"})
    void whatIsNoJsonIsRefused(String text) {
        assertThrows(JsonException.class, () -> parse(text));
    }

    @Test
    void bytesThatAreNoUtf8AreRefused() {
        assertThrows(JsonException.class, () -> JsonParser.parse(new byte[] {'"', (byte) 0xff, '"'}));
    }

    @Test
    void whatIsWrittenReadsTheSame() throws JsonException {
        Map<String, Object> value = new LinkedHashMap<>();
        value.put("text", "\u0000\"\\ \ud83d\ude00 é");
        value.put("numbers", List.of(1L, 1.5, Long.MIN_VALUE));
        value.put("none", null);
        assertEquals(value, parse(JsonWriter.write(value)));
    }

    @Test
    void halfOfAPairArrivesAsItWas() throws JsonException {
        String half = "a\ud83d";
        assertEquals("\"a\\ud83d\"", JsonWriter.write(half));
        assertEquals(half, parse(JsonWriter.write(half)));
    }

    @Test
    void jsonHasNoInfiniteNumbers() {
        assertThrows(IllegalArgumentException.class, () -> JsonWriter.write(Double.NaN));
    }

    @Test
    void depthAndNumberOfValuesAreLimitedOutsideStrings() {
        byte[] deep = "[[[[\"[[[[[[\\\"[\"]]]]".getBytes(StandardCharsets.UTF_8);
        assertTrue(JsonParser.isBounded(deep, 4, 100));
        assertFalse(JsonParser.isBounded(deep, 3, 100));
        assertFalse(JsonParser.isBounded("[1,2,3,4]".getBytes(StandardCharsets.UTF_8), 4, 3));
    }
}
