// Draws the charts of one target from rows (charts/spec.py): the server sends each row once, and this keeps the range.
(() => {
  "use strict";
  const adocd = (window.adocd = window.adocd || {});
  const state = { spec: null, ids: {}, rows: [], marks: [], spanMs: 900000, drawn: false, zoom: null };
  const units = ["TiB", "GiB", "MiB", "KiB"];

  const size = (value) => {
    for (let i = 0; i < units.length; i += 1) {
      const factor = 2 ** (40 - 10 * i);
      if (Math.abs(value) >= factor) return `${short(value / factor)} ${units[i]}`;
    }
    return `${Math.round(value)} B`;
  };
  const short = (value) => (Math.abs(value) >= 99.5 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(3)));
  const words = {
    count: (v) => short(v),
    per_s: (v) => (v >= 1e6 ? `${short(v / 1e6)} M` : v >= 1e4 ? `${short(v / 1e3)} k` : short(v)),
    bytes: size,
    bytes_per_s: (v) => `${size(v)}/s`,
    share: (v) => `${v > 0 && v < 0.095 ? (v * 100).toFixed(1) : Math.round(v * 100)} %`,
    switch: (v) => (v ? "off" : "on"), // disable_auto_compactions: 1 is compaction off
  };
  const say = (unit, value) => (value === null || value === undefined ? "unknown" : words[unit](value));
  const escape = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  const colour = (name) => getComputedStyle(document.body).getPropertyValue(`--${name}`).trim();
  const chart = (key) => (state.ids[key] === undefined ? null : getElement(state.ids[key])?.chart);
  const column = (name) => state.spec.columns.indexOf(name) + 1;
  const values = (name) => {
    const at = column(name);
    return state.rows.map((row) => [row[0], row[at]]);
  };
  // Shares per second would look like a picket fence: draw their mean over 1/150 of the range, which is readable.
  const averages = (name) => {
    const at = column(name);
    const width = state.spanMs / 150;
    const bins = new Map();
    for (const row of state.rows) {
      const value = row[at];
      const begin = Math.floor(row[0] / width) * width;
      const bin = bins.get(begin) ?? { sum: 0, count: 0 };
      if (value !== null) bins.set(begin, { sum: bin.sum + value, count: bin.count + 1 });
    }
    return [...bins].map(([begin, bin]) => [begin, bin.sum / bin.count]);
  };
  const clock = (ms) => new Date(ms).toLocaleTimeString([], { hour12: false });

  const axis = (unit, more) => ({
    type: "value",
    splitNumber: 3,
    axisLabel: { color: colour("muted"), fontSize: 11, formatter: (v) => say(unit, v) },
    splitLine: { lineStyle: { color: colour("line") } },
    min: 0,
    minInterval: unit === "count" ? 1 : undefined,
    ...more,
  });
  const time = (more) => ({
    type: "time",
    min: state.rows.length ? state.rows[state.rows.length - 1][0] - state.spanMs : undefined,
    max: state.rows.length ? state.rows[state.rows.length - 1][0] : undefined,
    splitNumber: 4,
    axisLabel: { color: colour("muted"), fontSize: 11, hideOverlap: true, formatter: (ms) => hhmm(ms) },
    axisLine: { lineStyle: { color: colour("line") } },
    axisTick: { show: false },
    splitLine: { show: false },
    ...more,
  });
  const hhmm = (ms) => {
    const parts = { hour: "2-digit", minute: "2-digit", hour12: false };
    return new Date(ms).toLocaleTimeString([], ms % 60000 ? { ...parts, second: "2-digit" } : parts);
  };
  const tooltip = (formatter) => ({
    trigger: "axis",
    confine: true,
    transitionDuration: 0,
    backgroundColor: colour("surface"),
    borderColor: colour("line"),
    textStyle: { color: colour("ink"), fontSize: 12 },
    extraCssText: "max-width: 24rem; white-space: normal",
    formatter,
  });
  const decisionLines = () => ({
    silent: true,
    symbol: "none",
    label: { show: false },
    animation: false,
    lineStyle: { color: colour("mark"), width: 1, type: "dotted", opacity: state.marks.length > 20 ? 0.25 : 0.5 },
    data: state.marks.map((mark) => ({ xAxis: mark.at })),
  });
  const dataZoom = (axes) => [{ type: "inside", xAxisIndex: axes, zoomOnMouseWheel: "ctrl", moveOnMouseMove: false }];

  const last = (name) => {
    const row = state.rows[state.rows.length - 1];
    return row ? row[column(name)] : null;
  };
  // The scale of shares ends at a round value; that of bytes has steps that are powers of two.
  const scale = (unit, highest) => {
    if (unit === "share") {
      const most = [0.1, 0.5, 1].find((each) => highest <= each) ?? 1;
      return { max: most, interval: most / 2 };
    }
    if (!unit.startsWith("bytes") || highest <= 0) return {};
    const step = 2 ** Math.ceil(Math.log2(highest / 3));
    return { interval: step, max: (v) => Math.ceil(v.max / step) * step };
  };

  // A knob's scale is labelled with its exact lowest and highest value.
  const between = (name) => {
    const known = state.rows.map((row) => row[column(name)]).filter((v) => v !== null && v !== undefined);
    const least = Math.min(...known);
    const most = Math.max(...known);
    if (!known.length || most === 0) return { min: 0, max: 1, interval: 1 };
    return least < most ? { min: least, max: most, interval: most - least } : { min: 0, max: 2 * most, interval: most };
  };

  const series = (name, line, data, first) => ({
    name,
    type: "line",
    data,
    showSymbol: false,
    stack: line.stack || undefined,
    step: line.stack ? "start" : line.limit ? "end" : false,
    areaStyle: line.stack ? { opacity: 1 } : undefined,
    sampling: "minmax", // as many points as there are pixels
    lineStyle: { width: line.stack ? 0 : 1.5, type: line.limit ? "dashed" : "solid" },
    color: colour(line.colour),
    emphasis: { disabled: true },
    animation: false,
    connectNulls: false,
    markLine: first ? decisionLines() : undefined,
  });

  const drawOne = (one) => {
    const target = chart(one.key);
    if (!target) return;
    const at = one.lines.filter((line) => !line.limit).map((line) => column(line.column));
    const stacked = one.lines.some((line) => line.stack);
    const drawn = stacked ? one.lines.map((line) => averages(line.column)) : at.map((c) => state.rows.map((r) => [0, r[c]]));
    const heights = drawn[0].map((_, i) => drawn.map((each) => each[i]?.[1] ?? 0));
    const highest = heights.reduce((most, h) => Math.max(most, stacked ? h.reduce((a, b) => a + b, 0) : Math.max(...h)), 0);
    // A distant limit would flatten everything else; the legend shows its value.
    const far = (line) => line.limit && (last(line.column) ?? 0) > 4 * highest;
    const nameOf = (line) => (line.limit ? `${line.name} ${say(one.unit, last(line.column))}` : line.name);
    target.setOption(
      {
        animation: false,
        aria: { enabled: false },
        grid: { left: 8, right: 14, top: one.lines.length > 1 ? 30 : 12, bottom: 4, containLabel: true },
        legend: { show: one.lines.length > 1, top: 0, left: 0, itemWidth: 14, itemHeight: 8, textStyle: { color: colour("muted"), fontSize: 11 } },
        xAxis: time(),
        yAxis: axis(one.unit, scale(one.unit, highest)),
        tooltip: tooltip((points) => {
          const lines = points
            .filter((p) => p.value[1] !== null && p.value[1] !== undefined)
            .map((p) => `${p.marker}${escape(p.seriesName)} <b>${escape(say(one.unit, p.value[1]))}</b>`);
          return [escape(clock(points[0].value[0])), ...lines].join("<br>");
        }),
        dataZoom: dataZoom([0]),
        series: one.lines.map((line, index) => series(nameOf(line), line, far(line) ? [] : line.stack ? averages(line.column) : values(line.column), index === 0)),
      },
      { notMerge: !state.drawn, lazyUpdate: true },
    );
  };

  const drawKnobs = () => {
    const target = chart("knobs");
    if (!target) return;
    const knobs = state.spec.knobs;
    const high = 44;
    const gap = 32;
    const top = 44;
    const wanted = `${top + Math.max(1, knobs.length) * (high + gap) + 12}px`;
    const element = target.getDom();
    if (element.style.minHeight !== wanted) {
      element.style.minHeight = wanted;
      target.resize();
    }
    const axes = knobs.map((_, index) => index);
    target.setOption(
      {
        animation: false,
        aria: { enabled: false },
        grid: [
          { left: 70, right: 14, top: 8, height: 16 },
          ...knobs.map((_, i) => ({ left: 70, right: 14, top: top + 10 + i * (high + gap), height: high })),
        ],
        title: knobs.map((knob, i) => ({
          text: knob.name,
          left: 0,
          top: top - 14 + i * (high + gap),
          textStyle: { color: colour("ink"), fontSize: 12, fontWeight: 600, fontFamily: "inherit" },
        })),
        xAxis: [
          time({ gridIndex: 0, axisLabel: { show: false }, axisLine: { show: false } }),
          ...axes.map((i) => time({ gridIndex: i + 1, axisLabel: i === knobs.length - 1 ? undefined : { show: false } })),
        ].map((x) => (x.axisLabel ? x : { ...x, axisLabel: time().axisLabel })),
        yAxis: [
          { type: "value", gridIndex: 0, show: false, min: 0, max: 1 },
          ...knobs.map((knob, i) => axis(knob.unit, { gridIndex: i + 1, ...between(knob.name) })),
        ],
        tooltip: { ...tooltip(undefined), trigger: "item" },
        dataZoom: dataZoom([0, ...axes.map((i) => i + 1)]),
        series: [
          {
            type: "scatter",
            xAxisIndex: 0,
            yAxisIndex: 0,
            symbol: "diamond",
            symbolSize: 13,
            cursor: "pointer",
            data: state.marks.map((mark) => ({
              value: [mark.at, 0.5],
              name: String(mark.number),
              itemStyle: { color: mark.look === "bad" ? colour("red") : colour("mark"), borderColor: colour("surface"), borderWidth: 1 },
            })),
            tooltip: { formatter: (p) => markWords(p.name) },
          },
          ...knobs.map((knob, i) => ({
            name: knob.name,
            type: "line",
            step: "end",
            xAxisIndex: i + 1,
            yAxisIndex: i + 1,
            data: values(knob.name),
            showSymbol: false,
            color: colour("blue"),
            lineStyle: { width: 2 },
            emphasis: { disabled: true },
            markLine: decisionLines(),
          })),
        ],
      },
      { notMerge: !state.drawn, lazyUpdate: true },
    );
  };

  const markWords = (number) => {
    const mark = state.marks.find((each) => String(each.number) === number);
    if (!mark) return "";
    const lines = mark.lines.map(([name, text]) => `<span class="mark-name">${escape(name)}</span> ${escape(text)}`);
    return [`<b>Decision ${mark.number}</b> ${escape(clock(mark.at))}`, ...lines].join("<br>");
  };

  const draw = () => {
    if (!state.spec || document.hidden) return;
    if (state.spec.charts.some((one) => !chart(one.key)) || !chart("knobs")) {
      setTimeout(draw, 50); // the elements appear one after the other
      return;
    }
    state.spec.charts.forEach(drawOne);
    drawKnobs();
    if (!state.drawn) {
      chart("knobs").on("click", (p) => p.seriesType === "scatter" && adocd.showDecision(p.name));
    }
    state.drawn = true;
    if (document.body) document.body.dataset.charts = String(state.rows.length); // for tests that wait for the charts
  };

  adocd.showDecision = (number) => {
    const row = document.getElementById(`decision-${number}`);
    if (!row) return;
    row.open = true;
    row.scrollIntoView({ block: "center" });
    row.querySelector("summary")?.focus();
  };
  adocd.setCharts = (ids, spanS, spec, rows, marks) => {
    Object.assign(state, { ids, spec, rows, marks, spanMs: spanS * 1000, drawn: false });
    draw();
  };
  adocd.addRows = (rows, marks) => {
    if (!state.spec) return;
    if (marks !== null) state.marks = marks;
    state.rows.push(...rows);
    const last = state.rows.length ? state.rows[state.rows.length - 1][0] : 0;
    while (state.rows.length && state.rows[0][0] < last - state.spanMs) state.rows.shift();
    draw();
  };
  adocd.redraw = () => {
    state.drawn = false;
    draw();
  };
  adocd.state = state;
  document.addEventListener("visibilitychange", draw);
})();
