// Figures in words, as adocd.model.in_words formats them for the text beside the charts.
(() => {
  "use strict";
  const adocd = (window.adocd = window.adocd || {});
  const units = ["TiB", "GiB", "MiB", "KiB"];
  const short = (value) => (Math.abs(value) >= 99.5 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(3)));
  const HUGE = 2 ** 60; // a value that is out of the way, such as a limit that never holds
  const size = (value) => {
    if (value >= HUGE) return "huge";
    for (let i = 0; i < units.length; i += 1) {
      const factor = 2 ** (40 - 10 * i);
      if (Math.abs(value) >= factor) return `${short(value / factor)} ${units[i]}`;
    }
    return `${Math.round(value)} B`;
  };
  adocd.words = {
    count: (v) => short(v),
    per_s: (v) => (v >= 1e6 ? `${short(v / 1e6)} M` : v >= 1e4 ? `${short(v / 1e3)} k` : short(v)),
    bytes: size,
    bytes_per_s: (v) => `${size(v)}/s`,
    s: (v) => (v >= 0.9995 ? `${short(v)} s` : v >= 9.995e-4 ? `${short(v * 1e3)} ms` : `${short(v * 1e6)} \u00b5s`),
    share: (v) => `${v > 0 && v < 0.095 ? (v * 100).toFixed(1) : Math.round(v * 100)} %`,
    switch: (v) => (v ? "off" : "on"), // disable_auto_compactions: 1 is compaction off
  };
})();
