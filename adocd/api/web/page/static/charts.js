// Draws the charts of one target from rows (charts/spec.py): the server sends each row once, and this keeps the range.
(() => {
  "use strict";
  const adocd = (window.adocd = window.adocd || {});
  const GROUP = "adocd";
  const { state } = adocd;
  const { LEFT, RIGHT, STALLS_PX, WITH_STALLS, escape, colour, clock, shown, grouped, lines, areas, markWords } = adocd.marking;
  const words = adocd.words;
  const say = (unit, value) => (value === null || value === undefined ? "unknown" : words[unit](value));
  const chart = (key) => (state.ids[key] === undefined ? null : getElement(state.ids[key])?.chart);
  const keys = () => [...state.spec.charts.map((one) => one.key), "knobs"];
  const column = (name) => state.spec.columns.indexOf(name) + 1;
  const values = (name) => {
    const at = column(name);
    return state.rows.map((row) => [row[0], row[at]]);
  };
  // Shares per second would look like a picket fence: draw their mean over 1/150 of the range, which is readable. A row
  // is about the time before it, and one without columns says that nothing was measured from there on.
  const averages = (name) => {
    const at = column(name);
    const [begin, end] = shown();
    const width = Math.max(1000, (end - begin) / 150);
    const bins = new Map();
    for (const row of state.rows) {
      const value = row[at];
      const stop = Math.ceil(row[0] / width) * width;
      const bin = bins.get(stop) ?? { sum: 0, count: 0 };
      if (value !== null && value !== undefined) bins.set(stop, { sum: bin.sum + value, count: bin.count + 1 });
      else if (value === undefined || !bin.count) bins.set(stop, { ...bin, ends: true });
    }
    const drawn = [];
    let goesOn = false;
    for (const [stop, { sum, count, ends }] of bins) {
      if (count) {
        const from = Math.max(stop - width, begin);
        if (!goesOn && drawn.length) drawn.push([from, null]); // ECharts draws a step from the point before it on
        if (!goesOn) drawn.push([from, sum / count]);
        drawn.push([Math.min(stop, end), sum / count]);
      }
      if (ends) drawn.push([Math.min(stop, end) + 1, null]);
      goesOn = count > 0 && !ends;
    }
    return drawn;
  };
  adocd.averages = averages; // for tests
  const hhmm = (ms) => {
    const parts = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
    return new Date(ms).toLocaleTimeString([], ms % 60000 ? { ...parts, second: "2-digit" } : parts);
  };

  const axis = (unit, more) => ({
    type: unit === "s" ? "log" : "value", // latencies differ by a factor of ten thousand
    splitNumber: 3,
    axisLabel: { color: colour("muted"), fontSize: 11, formatter: (v) => say(unit, v) },
    splitLine: { lineStyle: { color: colour("line") } },
    min: unit === "s" ? undefined : 0,
    minInterval: unit === "count" ? 1 : undefined,
    ...more,
  });
  const time = (more) => ({
    type: "time",
    min: shown()[0],
    max: shown()[1],
    splitNumber: 4,
    axisLabel: { color: colour("muted"), fontSize: 11, hideOverlap: true, formatter: (ms) => hhmm(ms) },
    axisLine: { lineStyle: { color: colour("line") } },
    axisTick: { show: false },
    splitLine: { show: false },
    axisPointer: { show: true, snap: true, label: { show: false }, lineStyle: { color: colour("ink"), width: 1, type: "solid", opacity: 0.5 } },
    ...more,
  });
  const tooltip = (more) => ({
    transitionDuration: 0,
    appendToBody: true,
    backgroundColor: colour("surface"),
    borderColor: colour("line"),
    textStyle: { color: colour("ink"), fontSize: 12 },
    extraCssText: "max-width: min(26rem, 80vw); white-space: normal; pointer-events: none",
    // Beside the crosshair, so that the tooltip does not hide what it tells of.
    position: ([x], _params, _dom, _rect, { contentSize, viewSize }) => [
      x + 18 + contentSize[0] <= viewSize[0] + 40 ? x + 18 : Math.max(-LEFT, x - 18 - contentSize[0]), 4,
    ],
    ...more,
  });

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
    if (!unit.startsWith("bytes")) return {};
    if (highest <= 0) return { max: 1, interval: 1 };
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

  const series = (name, line, unit, data, more) => ({
    name,
    type: "line",
    data,
    showSymbol: false,
    stack: line.stack || undefined,
    step: line.stack ? "start" : line.limit || unit === "count" ? "end" : false,
    areaStyle: line.stack ? { opacity: 1 } : undefined,
    // As many points as there are pixels, where no gap could get lost.
    sampling: line.stack || unit === "count" || state.rows.some((row) => row.length === 1) ? undefined : "minmax",
    lineStyle: { width: line.stack ? 0 : 1.5, type: line.limit ? "dashed" : "solid" },
    color: colour(line.colour),
    emphasis: { disabled: true },
    animation: false,
    connectNulls: false,
    ...more,
  });

  // The figure beside a title: at the crosshair, and the newest without one.
  const readout = (key, ms) => {
    const place = document.getElementById(`readout-${key}`);
    const one = state.spec.charts.find((each) => each.key === key);
    if (!place || !one) return;
    if (!state.rows.length) {
      place.textContent = "";
      return;
    }
    let row = state.rows[state.rows.length - 1];
    if (ms !== null) row = state.rows.find((each) => each[0] >= ms) ?? row;
    const own = one.lines.filter((line) => !line.limit).map((line) => row[column(line.column)]);
    const known = own.filter((value) => value !== null && value !== undefined);
    const value = one.lines[0].stack ? known.reduce((a, b) => a + b, 0) : known[0];
    place.textContent = known.length ? say(one.unit, one.unit === "share" ? Math.min(1, value) : value) : "unknown";
    place.classList.toggle("at", ms !== null);
  };

  const drawOne = (one, index) => {
    const target = chart(one.key);
    if (!target) return;
    const stacked = one.lines.some((line) => line.stack);
    const own = one.lines.filter((line) => !line.limit);
    const drawn = own.map((line) => (stacked ? averages(line.column) : values(line.column)));
    const heights = drawn[0].map((_, i) => drawn.map((each) => each[i]?.[1] ?? 0));
    const highest = heights.reduce((most, h) => Math.max(most, stacked ? h.reduce((a, b) => a + b, 0) : Math.max(...h)), 0);
    // A distant limit would flatten everything else; the legend shows its value.
    const far = (line) => line.limit && (last(line.column) ?? 0) > 4 * highest;
    const nameOf = (line) => (line.limit ? `${line.name} ${say(one.unit, last(line.column))}` : line.name);
    const data = (line) => (far(line) ? [] : line.stack ? averages(line.column) : values(line.column));
    const many = one.lines.length > 1;
    const top = (many ? 30 : 14) + (WITH_STALLS.includes(one.key) ? STALLS_PX : 0);
    target.setOption(
      {
        animation: false,
        aria: { enabled: false },
        grid: { left: LEFT, right: RIGHT, top, bottom: 22 },
        legend: {
          show: many, top: 0, left: 0, itemWidth: 12, itemHeight: 3, icon: "rect", itemGap: 12,
          textStyle: { color: colour("muted"), fontSize: 11 },
        },
        xAxis: time(),
        yAxis: axis(one.unit, scale(one.unit, highest)),
        toolbox: { show: true, itemSize: 0, showTitle: false, feature: { dataZoom: { yAxisIndex: false, icon: { zoom: "none", back: "none" } } } },
        tooltip: tooltip({
          trigger: "axis",
          formatter: (points) => {
            readout(one.key, points[0].value[0]);
            if (state.hovered !== one.key) return ""; // the others show their crosshair and their figure
            const lines = points
              .filter((p) => p.value[1] !== null && p.value[1] !== undefined)
              .map((p) => `${p.marker}${escape(p.seriesName)} <b>${escape(say(one.unit, p.value[1]))}</b>`);
            return [escape(clock(points[0].value[0])), ...lines].join("<br>");
          },
        }),
        series: one.lines.map((line, i) =>
          series(nameOf(line), line, one.unit, data(line), i === 0 ? { markLine: lines(one.key, target.getWidth(), top), markArea: areas(index === 1) } : {}),
        ),
      },
      { notMerge: !state.drawn, lazyUpdate: true },
    );
    readout(one.key, null);
  };

  const drawKnobs = () => {
    const target = chart("knobs");
    if (!target) return;
    const knobs = state.spec.knobs;
    const high = 40;
    const gap = 32;
    const top = 44;
    const wanted = `${top + Math.max(1, knobs.length) * (high + gap) + 12}px`;
    const element = target.getDom();
    if (element.style.minHeight !== wanted) {
      element.style.minHeight = wanted;
      target.resize();
    }
    const axes = knobs.map((_, index) => index);
    state.groups = grouped(target.getWidth());
    const fill = { bad: colour("red"), good: colour("mark"), quiet: colour("surface") };
    target.setOption(
      {
        animation: false,
        aria: { enabled: false },
        axisPointer: { link: [{ xAxisIndex: "all" }] },
        grid: [
          { left: LEFT, right: RIGHT, top: 8, height: 16 },
          ...knobs.map((_, i) => ({ left: LEFT, right: RIGHT, top: top + 10 + i * (high + gap), height: high })),
        ],
        title: knobs.map((knob, i) => ({
          text: knob.name,
          left: 0,
          top: top - 14 + i * (high + gap),
          textStyle: { color: colour("ink"), fontSize: 12, fontWeight: 600, fontFamily: "inherit" },
        })),
        xAxis: [
          time({ gridIndex: 0, axisLabel: { show: false }, axisLine: { show: false } }),
          ...axes.map((i) => time({ gridIndex: i + 1, ...(i === knobs.length - 1 ? {} : { axisLabel: { show: false } }) })),
        ],
        yAxis: [
          { type: "value", gridIndex: 0, show: false, min: 0, max: 1 },
          ...knobs.map((knob, i) => axis(knob.unit, { gridIndex: i + 1, ...between(knob.name) })),
        ],
        tooltip: tooltip({ trigger: "item" }),
        series: [
          {
            type: "scatter",
            xAxisIndex: 0,
            yAxisIndex: 0,
            symbol: "diamond",
            cursor: "pointer",
            data: state.groups.map((group, i) => ({
              value: [group.at, 0.5],
              name: String(i),
              symbolSize: group.marks.length > 1 ? 18 : 13,
              label: { show: group.marks.length > 1, formatter: String(group.marks.length), fontSize: 10, fontWeight: 700, color: group.look === "quiet" ? colour("ink") : colour("surface") },
              itemStyle: { color: fill[group.look], borderColor: group.look === "quiet" ? colour("mark") : colour("surface"), borderWidth: 1 },
            })),
            tooltip: { formatter: (p) => markWords(state.groups[Number(p.name)]) },
          },
          ...knobs.map((knob, i) => ({
            name: knob.name,
            type: "line",
            step: "end",
            xAxisIndex: i + 1,
            yAxisIndex: i + 1,
            data: values(knob.name),
            showSymbol: false,
            silent: true,
            color: colour("blue"),
            lineStyle: { width: 2 },
            emphasis: { disabled: true },
            markLine: lines("knobs", target.getWidth(), 0),
            markArea: areas(false),
          })),
        ],
      },
      { notMerge: !state.drawn, lazyUpdate: true },
    );
    const note = document.getElementById("marks-note");
    if (note) note.textContent = [state.marks.note, state.spec.note].filter(Boolean).join("; ");
  };

  let connected = false;
  const connect = async () => {
    const { echarts } = await import("nicegui-echart");
    keys().forEach((key) => {
      const one = chart(key);
      one.group = GROUP;
      one.getZr().on("mousemove", () => (state.hovered = key));
      one.getZr().on("globalout", () => {
        state.hovered = null;
        keys().forEach((each) => readout(each, null));
      });
      one.on("datazoom", (event) => {
        const { startValue, endValue } = event.batch?.[0] ?? event;
        if (startValue === undefined) return;
        const [from, to] = [startValue / 1000, endValue / 1000];
        if (to - from >= 5 && state.asked !== from) adocd.choose((state.asked = from), to);
      });
    });
    chart("knobs").on("click", (p) => p.seriesType === "scatter" && adocd.showDecision(state.groups[Number(p.name)].marks[0].number));
    echarts.connect(GROUP);
  };
  // Dragging over a chart chooses its time; a finger scrolls the page instead.
  const takeDrag = () => {
    if (!matchMedia("(hover: hover)").matches) return;
    state.spec.charts.forEach((one) => chart(one.key).dispatchAction({ type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true }));
  };

  const draw = () => {
    if (!state.spec || document.hidden) return;
    if (keys().some((key) => !chart(key))) {
      setTimeout(draw, 50); // the elements appear one after the other
      return;
    }
    const fresh = !state.drawn;
    if (!connected) {
      connected = true;
      connect();
    }
    state.spec.charts.forEach(drawOne);
    drawKnobs();
    state.drawn = true;
    if (fresh) setTimeout(takeDrag, 0);
    if (document.body) document.body.dataset.charts = String(state.rows.length); // for tests that wait for the charts
  };

  adocd.setCharts = (ids, range, spec, rows, marks, more) => {
    Object.assign(state, { ids, spec, rows, marks, more, range, drawn: false, asked: null });
    draw();
    adocd.showRange(range.query);
  };
  adocd.addRows = (rows, marks, more) => {
    if (!state.spec) return;
    if (marks !== null) state.marks = marks;
    state.more = more;
    state.rows.push(...rows);
    const end = state.rows.length ? state.rows[state.rows.length - 1][0] : 0;
    while (state.rows.length && state.rows[0][0] < end - state.range.spanS * 1000) state.rows.shift();
    draw();
    adocd.showTimes();
  };
  adocd.redraw = () => {
    state.drawn = false;
    draw();
  };
  document.addEventListener("visibilitychange", draw);
  document.addEventListener("toggle", (event) => event.target.matches?.("details.more-charts") && draw(), true);
})();
