package pagewise.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsTest {
    @Test
    void unlessAskedItOnlyObserves() {
        Settings none = Settings.from(Map.of());
        assertEquals(new Settings(Policy.NONE, false, false, 0, 50, false, java.util.List.of()), none);
        assertFalse(Settings.from(Map.of(Settings.POLICY, "storage")).enforce());
    }

    @Test
    void everySettingIsRead() {
        Settings all = Settings.from(Map.of(
                Settings.POLICY, " Storage", Settings.MODE, "enforce", Settings.PRETENURE, "on", Settings.WINDOW, "64m", Settings.COLLAPSE_RATE, "7",
                Settings.RESERVED, "on"));
        assertEquals(new Settings(Policy.STORAGE, true, true, 64 << 20, 7, true, java.util.List.of()), all);
    }

    @ParameterizedTest
    @CsvSource({
        "spark.pagewise.policy,everything,'none, storage, execution, both'",
        "spark.pagewise.mode,on,'observe, enforce'",
        "spark.pagewise.reserved,1g,'off, on'",
        "spark.pagewise.polciy,storage,is not known",
        "spark.pagewise.window,many,64m",
        "spark.pagewise.window,-1,64m",
        "spark.pagewise.window,99999999999g,64m",
        "spark.pagewise.window,m,64m",
        "spark.pagewise.collapsesPerSecond,1g,at most 100000",
    })
    void whatCannotBeLeavesSparkAsItIsAndIsNamed(String name, String value, String said) {
        Map<String, String> given = new HashMap<>(Map.of(Settings.POLICY, "storage", Settings.MODE, "enforce"));
        given.put(name, value);
        Settings wrong = Settings.from(given);
        assertEquals(1, wrong.problems().size());
        assertTrue(wrong.problems().get(0).contains(name) && wrong.problems().get(0).contains(said), wrong.problems().get(0));
        assertEquals(Policy.NONE, wrong.policy());
        assertFalse(wrong.enforce());
    }
}
