// What the charts mark beside their lines: decisions, the longest stalls, and the time under a law.
(() => {
  "use strict";
  const adocd = (window.adocd = window.adocd || {});
  const state = { spec: null, ids: {}, rows: [], marks: [], more: {}, range: { spanS: 900 }, drawn: false, hovered: null };
  const LEFT = 64; // of every plot, so that all begin at the same place
  const RIGHT = 16;
  const STALLS_PX = 20; // above the plots that show the longest stalls
  const WITH_STALLS = ["stalled", "writes", "l0"];
  const NEAR_PX = 16; // decisions nearer than this are one mark
  const escape = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  const colour = (name) => getComputedStyle(document.body).getPropertyValue(`--${name}`).trim();
  const clock = (ms) => new Date(ms).toLocaleTimeString([], { hourCycle: "h23" });
  // From the database's first second, and never wider than the range that was asked for.
  const shown = () => {
    if (state.range.from) return [state.range.from * 1000, state.range.to * 1000];
    const last = state.rows.length ? state.rows[state.rows.length - 1][0] : Date.now();
    const first = state.rows.length ? state.rows[0][0] : last;
    return [Math.min(last - 30000, Math.max(first, last - state.range.spanS * 1000)), last];
  };
  // Marks nearer than some pixels are one.
  const grouped = (width) => {
    const [begin, end] = shown();
    const scale = Math.max(1, width - LEFT - RIGHT) / Math.max(1, end - begin);
    const groups = [];
    for (const mark of state.marks.items ?? []) {
      const at = Math.min(Math.max(mark.at, begin), end);
      const last = groups[groups.length - 1];
      if (last && (at - last.at) * scale < NEAR_PX) last.marks.push(mark);
      else groups.push({ at, marks: [mark] });
    }
    return groups.map((group) => ({
      ...group,
      look: ["bad", "good", "quiet"].find((look) => group.marks.some((mark) => mark.look === look)),
    }));
  };
  const inside = ([from, to]) => to > shown()[0] && from < shown()[1];
  // What a law or an operator changed, as dotted lines; the other decisions are in the lane of diamonds alone. And the
  // longest stalls, as numbered bars at the top of the charts where one looks for them.
  const lines = (key, width, top) => {
    const [begin, end] = shown();
    const changes = grouped(width).filter((group) => group.look === "good").map((group) => ({ xAxis: group.at }));
    const longest = WITH_STALLS.includes(key) ? (state.more.stalls ?? []).filter(inside) : [];
    const stalls = longest.map(([from, to, label]) => {
      const y = top + 6 * (Number(label) - 1) - STALLS_PX + 3;
      const tag = { show: true, position: "end", formatter: label, color: colour("ink"), fontSize: 11, fontWeight: 700, distance: 3 };
      const lineStyle = { type: "solid", width: 5, opacity: 0.9, color: colour("red") };
      const least = (end - begin) / 150;
      return [
        { coord: [Math.max(from, begin), 0], y, symbol: "none", lineStyle, label: tag },
        { coord: [Math.min(Math.max(to, from + least), end), 0], y, symbol: "none" },
      ];
    });
    return {
      silent: true,
      symbol: "none",
      label: { show: false },
      animation: false,
      lineStyle: { color: colour("mark"), width: 1, type: "dotted", opacity: 0.6 },
      data: [...changes, ...stalls],
    };
  };
  // The time under a law is shaded.
  const areas = (first) => {
    const [begin, end] = shown();
    const data = (state.more.acted ?? []).filter(inside).map(([from, to, law]) => [
      {
        xAxis: Math.max(from, begin),
        itemStyle: { color: colour("blue"), opacity: 0.09 },
        label: { show: first, formatter: `${law} acts`, position: "insideBottomLeft", color: colour("blue"), fontSize: 11 },
      },
      { xAxis: Math.min(to, end) },
    ]);
    return { silent: true, animation: false, data };
  };

  const markWords = (group) => {
    if (!group) return "";
    if (group.marks.length === 1) {
      const [mark] = group.marks;
      const lines = mark.lines.map(([name, text]) => `<span class="mark-name">${escape(name)}</span> ${escape(text)}`);
      return [`<b>Decision ${mark.number}</b> ${escape(clock(mark.at))}`, ...lines].join("<br>");
    }
    const lines = group.marks.slice(0, 8).map((mark) => `${escape(clock(mark.at))} ${escape(mark.short)}`);
    const more = group.marks.length > 8 ? [`and ${group.marks.length - 8} more`] : [];
    return [`<b>${group.marks.length} decisions</b>`, ...lines, ...more].join("<br>");
  };

  Object.assign(adocd, { state, marking: { LEFT, RIGHT, STALLS_PX, WITH_STALLS, escape, colour, clock, shown, grouped, lines, areas, markWords } });

  adocd.showDecision = (number) => {
    const row = document.getElementById(`decision-${number}`);
    if (!row) return;
    row.closest("details.older")?.setAttribute("open", "");
    row.open = true;
    row.scrollIntoView({ block: "center" });
    row.querySelector("summary")?.focus();
  };
})();
