// The page of a recording: timelines, stretches of time, flame graph, tables. Text is put where text goes: names of
// processes and symbols are anyone's, and never become markup.
"use strict";
(() => {
  const { byId, style, element, digits, percent, added, treeOf, merged, single, kernelOf, flameGraph } = pagewise;
  const data = JSON.parse(byId("data").textContent);

  // ---- numbers as people read them --------------------------------------------------------------------------------

  const scaled = (value, step, units) => {
    let at = 0;
    while (Math.abs(value) >= step && at < units.length - 1) { value /= step; at += 1; }
    return digits(value) + (units[at] ? "\u00a0" + units[at] : "");
  };
  const bytes = (value) => scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
  const plain = (value) => scaled(value, 1000, ["", "k", "M", "G", "T"]);
  const formats = {
    bytes,
    bytes_per_second: (value) => bytes(value) + "/s",
    pages_per_second: (value) => plain(value) + "\u00a0pages/s",
    per_second: (value) => plain(value) + "\u00a0/s",
    share: (value) => digits(value * 100) + "\u00a0%",
    seconds_per_second: (value) => digits(value) + "\u00a0s/s",
    count: plain,
  };
  // On an axis, without what every tick would repeat.
  const short = { ...formats, pages_per_second: plain, per_second: plain, seconds_per_second: (value) => digits(value) };
  const length = (seconds) => {
    if (seconds < 0.0995) return digits(seconds * 1000) + "\u00a0ms";
    if (seconds < 120) return digits(seconds) + "\u00a0s";
    if (seconds < 7200) return Math.floor(seconds / 60) + "\u00a0min" + (Math.round(seconds % 60) ? " " + Math.round(seconds % 60) + "\u00a0s" : "");
    return Math.floor(seconds / 3600) + "\u00a0h" + (Math.round((seconds % 3600) / 60) ? " " + Math.round((seconds % 3600) / 60) + "\u00a0min" : "");
  };

  // ---- recordings -------------------------------------------------------------------------------------------------

  const panels = [];
  let lineCount = 0;
  for (const panel of data.panels) {
    panels.push({ ...panel, first: lineCount });
    lineCount += panel.lines.length;
  }

  const recordings = data.recordings.map((recording, number) => {
    const { timeline } = recording;
    const exact = !timeline.lines.some((line) => line && line.low);
    const breaks = new Set(timeline.breaks);
    const x = [], bucket = [], second = [];
    timeline.first.forEach((first, at) => {
      const last = timeline.last[at];
      if (breaks.has(at)) { x.push(recording.wall + (timeline.last[at - 1] + first) / 2); bucket.push(-1); second.push(0); }
      if (exact || timeline.ticks[at] === 1) { x.push(recording.wall + first); bucket.push(at); second.push(2); }
      else {
        const quarter = (last - first) / 4;
        x.push(recording.wall + first + quarter, recording.wall + last - quarter);
        bucket.push(at, at); second.push(0, 1);
      }
    });
    // What is unknown at a tick because its file is read less often is bridged; what was not seen at all is not.
    const values = timeline.lines.map((line) => line && x.map((_, at) => {
      const of = bucket[at];
      if (of < 0) return null;
      if (line.mean[of] === null) return undefined;
      if (second[at] === 2 || !line.low) return line.mean[of];
      const highFirst = line.falls[of] === "1";
      return (second[at] === 0) === highFirst ? line.high[of] : line.low[of];
    }));
    return { ...recording, number, x, values, plots: [] };
  });
  const two = recordings.length > 1;
  const hasLine = (at) => recordings.some((recording) => recording.timeline.lines[at]);
  const isQuiet = (at) => recordings.every((recording) => {
    const line = recording.timeline.lines[at];
    return !line || (line.high || line.mean).every((value) => !value);
  });

  const clock = (recording, at, withDay) => {
    const text = new Date((recording.wall + at) * 1000).toISOString();
    return (withDay ? text.slice(0, 10) + " " : "") + text.slice(11, recording.length < 30 ? 21 : 19);
  };

  // ---- stretches of time ------------------------------------------------------------------------------------------

  const whole = (number) => ({ number, from: 0, to: recordings[number].length });
  const state = { a: whole(0), b: two ? whole(1) : null, active: "a" };

  // The buckets that a stretch touches; it then begins and ends with them.
  const buckets = (stretch) => {
    const { timeline } = recordings[stretch.number];
    let from = timeline.last.findIndex((last) => last >= stretch.from - 1e-9);
    if (from < 0) from = Math.max(0, timeline.last.length - 1);
    let to = from;
    while (to + 1 < timeline.first.length && timeline.first[to + 1] <= stretch.to + 1e-9) to += 1;
    return [from, to];
  };
  const said = (stretch) => {
    const recording = recordings[stretch.number];
    const isWhole = stretch.from <= 0 && stretch.to >= recording.length;
    const times = `${clock(recording, stretch.from, true)} to ${clock(recording, stretch.to, false)}`;
    return (isWhole ? "all, " : "") + `${times} · ${length(stretch.to - stretch.from)}`;
  };

  let due = 0;
  const changed = () => {
    for (const name of ["a", "b"]) showStretch(name);
    recordings.forEach((recording) => recording.plots.forEach((plot) => plot.redraw(false, false)));
    clearTimeout(due);
    due = setTimeout(() => { drawCounters(); flames.draw(); }, 60);
  };
  const setStretch = (name, from, to) => {
    const recording = recordings[state[name].number];
    const least = recording.length / 1000;
    from = Math.max(0, Math.min(from, recording.length - least));
    to = Math.min(recording.length, Math.max(to, from + least));
    Object.assign(state[name], { from, to });
    changed();
  };

  const boxes = {};
  const makeStretch = (name) => {
    const label = name.toUpperCase();
    const range = (which) => element("input", { type: "range", min: 0, max: 1000, step: 1, "aria-label": `${label}, ${which}`,
      oninput: () => {
        const { length } = recordings[state[name].number];
        const [from, to] = [boxes[name].from, boxes[name].to].map((one) => Number(one.value) / 1000 * length);
        setStretch(name, Math.min(from, to), Math.max(from, to));
      } });
    const box = { from: range("from"), to: range("to"), said: element("output") };
    box.whole = element("div", { class: `stretch ${name}`, role: "group", "aria-label": `Stretch ${label}` },
      element("span", { class: `tag ${name}` }, label),
      element("label", {}, "from", box.from), element("label", {}, "to", box.to), box.said);
    boxes[name] = box;
    return box.whole;
  };
  const showStretch = (name) => {
    const box = boxes[name], stretch = state[name];
    box.whole.hidden = !stretch;
    if (!stretch) return;
    const { length } = recordings[stretch.number];
    for (const which of ["from", "to"]) {
      if (document.activeElement !== box[which]) box[which].value = length ? Math.round(stretch[which] / length * 1000) : 0;
      box[which].setAttribute("aria-valuetext", clock(recordings[stretch.number], stretch[which], false));
    }
    box.said.textContent = said(stretch);
  };
  const zoom = (toStretches) => {
    for (const recording of recordings) {
      const stretch = [state.a, state.b].find((one) => one && one.number === recording.number && (two || one === state[state.active]));
      const [from, to] = toStretches && stretch ? [stretch.from, stretch.to] : [0, recording.length];
      const room = Math.max((to - from) * 0.01, 1e-3);
      recording.plots.forEach((plot) => plot.setScale("x", { min: recording.wall + from - room, max: recording.wall + to + room }));
    }
  };
  const makeStretches = () => {
    const drags = element("span", { role: "group", "aria-label": "Dragging over a timeline sets", hidden: two });
    const dragButtons = ["a", "b"].map((name) => element("button", { type: "button", onclick: () => {
      if (name === "b" && !state.b) {
        // Two halves are a start that shows what a second stretch is.
        const half = recordings[0].length / 2;
        state.b = { number: 0, from: half, to: recordings[0].length };
        if (state.a.from <= 0 && state.a.to >= recordings[0].length) state.a.to = half;
        flames.choose("difference");
      }
      state.active = name;
      show();
    } }));
    drags.append(...dragButtons);
    const drop = element("button", { type: "button", onclick: () => { state.b = null; state.active = "a"; show(); } }, "Drop B");
    const show = () => {
      dragButtons[0].textContent = "Drag sets A";
      dragButtons[1].textContent = state.b ? "Drag sets B" : "Compare with a stretch B";
      dragButtons.forEach((button, at) => button.setAttribute("aria-pressed", String(state.active === "ab"[at])));
      drop.hidden = two || !state.b;
      document.body.classList.toggle("active-b", state.active === "b");
      changed();
    };
    const all = element("button", { type: "button", onclick: () => {
      const { number } = state[state.active];
      if (two) { Object.assign(state.a, whole(0)); Object.assign(state.b, whole(1)); } else Object.assign(state[state.active], whole(number));
      zoom(false);
      changed();
    } }, "Select all");
    byId("stretches").append(makeStretch("a"), makeStretch("b"), element("div", { class: "tools" }, drags, drop, all,
      element("button", { type: "button", onclick: () => zoom(true) }, "Zoom to selection"),
      element("button", { type: "button", onclick: () => zoom(false) }, "Zoom out")));
    byId("stretches").hidden = false;
    show();
  };

  // ---- timelines --------------------------------------------------------------------------------------------------

  const band = (plot, from, to, fill) => {
    const [left, right] = [plot.valToPos(from, "x", true), plot.valToPos(to, "x", true)];
    const { left: edge, top, width, height } = plot.bbox;
    const [a, b] = [Math.max(left, edge), Math.min(right, edge + width)];
    if (b <= a) return;
    plot.ctx.fillStyle = fill;
    plot.ctx.fillRect(a, top, b - a, height);
  };
  const hatch = (plot, recording) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.strokeStyle = style("--gap");
    ctx.lineWidth = 1;
    for (const gap of recording.gaps) {
      const left = Math.max(plot.valToPos(recording.wall + gap.from, "x", true), bbox.left);
      let right = Math.min(plot.valToPos(recording.wall + (gap.to === null ? recording.length : gap.to), "x", true), bbox.left + bbox.width);
      right = Math.max(right, left + 2);
      if (left > bbox.left + bbox.width || right < bbox.left) continue;
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, bbox.top, right - left, bbox.height);
      ctx.clip();
      ctx.beginPath();
      for (let at = left - bbox.height; at < right; at += 6) { ctx.moveTo(at, bbox.top + bbox.height); ctx.lineTo(at + bbox.height, bbox.top); }
      ctx.stroke();
      ctx.restore();
    }
    ctx.strokeStyle = style("--event");
    ctx.lineWidth = Math.max(1, devicePixelRatio);
    for (const [events, dash] of [[recording.changes, []], [recording.marks, [3, 3]]]) {
      ctx.setLineDash(dash);
      for (const event of events) {
        const at = Math.round(plot.valToPos(recording.wall + event.at, "x", true)) + 0.5;
        ctx.beginPath();
        ctx.moveTo(at, bbox.top);
        ctx.lineTo(at, bbox.top + bbox.height);
        ctx.stroke();
      }
    }
    ctx.restore();
  };

  // Times on an axis: UTC, with seconds only where the marks are that close.
  const instants = (_, splits, axis, space, every) => splits.map((at) => {
    const text = new Date(at * 1000).toISOString();
    if (every >= 86400) return text.slice(5, 10);
    return text.slice(11, every >= 60 ? 16 : 19) + (every < 1 ? text.slice(19, 21) : "");
  });
  const binarySteps = [];
  for (let step = 1; step < 2 ** 52; step *= 2) binarySteps.push(step);

  const colour = (at) => style(`--s${at % 9 + 1}`);
  const visible = new Map();
  const drawn = [];

  const makePlot = (panel, recording, box, buttons) => {
    const lines = panel.lines.map((line, at) => ({ ...line, at: panel.first + at, place: at })).filter((line) => recording.values[line.at]);
    const format = formats[panel.unit];
    const tell = (plot) => {
      const at = plot.cursor.idx;
      lines.forEach((line, place) => {
        const value = at === null || at === undefined ? undefined : plot.data[place + 1][at];
        const button = buttons.get(line.place);
        if (button) button.textContent = value === null || value === undefined ? "" : format(value);
      });
    };
    const options = {
      width: box.clientWidth || 360, height: 172, tzDate: (at) => uPlot.tzDate(new Date(at * 1e3), "Etc/UTC"),
      legend: { show: false },
      cursor: { sync: { key: "recording-" + recording.number, setSeries: false }, drag: { x: true, y: false, setScale: false }, points: { size: 6 }, y: false },
      scales: {
        x: { time: true, range: (_, min, max) => (min === max ? [min - 1, max + 1] : [min, max]) },
        y: { range: (_, low, high) => {
          if (panel.unit === "share" && high > 0.5) return [0, Math.max(1, high)];
          return [Math.min(0, low || 0), high > 0 ? high * 1.08 : 1];
        } },
      },
      axes: [
        { stroke: style("--soft"), grid: { stroke: style("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui", size: 28, space: 66, values: instants },
        { stroke: style("--soft"), grid: { stroke: style("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui", size: 66, space: 34, ...(panel.unit.startsWith("bytes") ? { incrs: binarySteps } : {}),
          values: (_, splits) => splits.map((value) => short[panel.unit](value)) },
      ],
      series: [{}, ...lines.map((line) => ({ label: line.label, stroke: colour(line.place), width: 1.25, show: visible.get(line.id), spanGaps: false, points: { show: recording.x.length < 2 } }))],
      hooks: {
        drawClear: [(plot) => {
          for (const name of ["a", "b"]) {
            const stretch = state[name];
            if (!stretch || stretch.number !== recording.number) continue;
            if (stretch.from <= 0 && stretch.to >= recording.length) continue;
            band(plot, recording.wall + stretch.from, recording.wall + stretch.to, `color-mix(in srgb, ${style("--" + name)} 14%, transparent)`);
          }
        }],
        draw: [(plot) => hatch(plot, recording)],
        setCursor: [tell],
        setSelect: [(plot) => {
          if (plot.select.width < 3) return;
          const [from, to] = [plot.select.left, plot.select.left + plot.select.width].map((at) => plot.posToVal(at, "x") - recording.wall);
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          setStretch(two ? "ab"[recording.number] : state.active, from, to);
        }],
      },
    };
    const plot = new uPlot(options, [recording.x, ...lines.map((line) => recording.values[line.at])], box);
    plot.root.setAttribute("aria-hidden", "true");
    recording.plots.push(plot);
    drawn.push({ plot, box, lines });
    return plot;
  };

  const makePanels = () => {
    const quiet = [];
    const grids = recordings.map((recording) => {
      if (two) byId("panels").append(element("h3", {}, element("span", { class: `tag ${"ab"[recording.number]}` }, "AB"[recording.number]), " ", element("bdi", {}, recording.name)));
      const grid = element("div", { class: "panels" });
      byId("panels").append(grid);
      return grid;
    });
    const later = [];
    for (const panel of panels) {
      const known = panel.lines.map((_, at) => at).filter((at) => hasLine(panel.first + at));
      if (!known.length) continue;
      for (const at of known) visible.set(panel.lines[at].id, panel.lines[at].shown);
      const isStill = known.every((at) => isQuiet(panel.first + at));
      if (isStill) quiet.push(panel.title);
      recordings.forEach((recording, number) => {
        const buttons = new Map();
        const box = element("div", { class: "plot-box" });
        const legend = element("div", { class: "lines" });
        for (const at of known.filter((at) => recording.values[panel.first + at])) {
          const line = panel.lines[at];
          const value = element("b");
          buttons.set(at, value);
          const swatch = element("i");
          const button = element("button", { type: "button", "aria-pressed": String(visible.get(line.id)), onclick: () => {
            visible.set(line.id, !visible.get(line.id));
            button.setAttribute("aria-pressed", String(visible.get(line.id)));
            swatch.style.background = visible.get(line.id) ? colour(at) : "";
            const one = drawn.find((one) => one.box === box);
            if (one) one.plot.setSeries(one.lines.findIndex((other) => other.place === at) + 1, { show: visible.get(line.id) });
          } }, swatch, line.label, value);
          swatch.style.background = visible.get(line.id) ? colour(at) : "";
          swatch.dataset.at = String(at);
          legend.append(button);
        }
        const card = element("div", { class: "panel" }, element("h3", {}, panel.title), element("p", { class: "hint" }, panel.hint), box, legend);
        if (isStill) later.push([number, card, panel, box, buttons]);
        else { grids[number].append(card); makePlot(panel, recording, box, buttons); }
      });
    }
    if (later.length) {
      const inside = element("div", { class: "panels" });
      let isMade = false;
      const still = element("details", { class: "quiet", ontoggle: () => {
        if (isMade) return;
        isMade = true;
        for (const [number, , panel, box, buttons] of later) makePlot(panel, recordings[number], box, buttons);
      } }, element("summary", {}, "Zero throughout: " + quiet.join(", ").toLowerCase()), inside);
      later.forEach(([, card]) => inside.append(card));
      byId("panels").append(still);
    }
    const missing = panels.filter((panel) => !panel.lines.some((_, at) => hasLine(panel.first + at))).map((panel) => panel.title);
    byId("timeline-note").textContent = "Drag over a timeline to select a stretch" + (two ? "" : " for the flame graph and the numbers")
      + "; the two sliders do the same by keys. Hatched: not seen. Upright lines: changes of settings, dashed: marks."
      + (missing.length ? " Not recorded: " + missing.join(", ").toLowerCase() + "." : "");
    new ResizeObserver(() => {
      for (const { plot, box } of drawn) if (box.clientWidth && box.clientWidth !== plot.width) plot.setSize({ width: box.clientWidth, height: 172 });
    }).observe(byId("panels"));
  };

  // ---- counters ---------------------------------------------------------------------------------------------------

  const sum = (stretch, at) => {
    const { timeline } = recordings[stretch.number];
    const line = timeline.lines[at];
    if (!line) return null;
    const [from, to] = buckets(stretch);
    let total = 0, ticks = 0, high = -Infinity, low = Infinity;
    for (let bucket = from; bucket <= to && bucket < line.mean.length; bucket += 1) {
      const mean = line.mean[bucket];
      if (mean === null) continue;
      total += mean * timeline.ticks[bucket];
      ticks += timeline.ticks[bucket];
      high = Math.max(high, (line.high || line.mean)[bucket]);
      low = Math.min(low, (line.low || line.mean)[bucket]);
    }
    return ticks ? { mean: total / ticks, high, low } : null;
  };
  const drawCounters = () => {
    const table = byId("counters");
    const head = (text, extra = {}) => element("th", { scope: "col", ...extra }, ...[text].flat());
    const tag = (name) => element("span", { class: `tag ${name}` }, name.toUpperCase());
    const columns = state.b
      ? [head(""), head([tag("a"), " mean"]), head([tag("b"), " mean"]), head("A to B"), head([tag("a"), " largest"]), head([tag("b"), " largest"])]
      : [head(""), head("mean"), head("smallest"), head("largest")];
    const body = element("tbody");
    for (const panel of panels) {
      const format = formats[panel.unit];
      const rows = [];
      panel.lines.forEach((line, at) => {
        const [a, b] = [state.a, state.b].map((stretch) => stretch && sum(stretch, panel.first + at));
        if (!a && !b) return;
        const cell = (of, key) => element("td", {}, of ? format(of[key]) : "—");
        const row = element("tr", {}, element("th", { scope: "row" }, line.label), cell(a, "mean"));
        if (state.b) {
          let change = "—", tone = "";
          if (a && b && a.mean === b.mean) change = "same";
          else if (a && b && a.mean > 0 && b.mean > 0) {
            const ratio = b.mean / a.mean;
            change = ratio >= 10 || ratio <= 0.1 ? "×" + digits(ratio) : (ratio > 1 ? "+" : "−") + digits(Math.abs(ratio - 1) * 100) + "\u00a0%";
          } else if (a && b) change = a.mean === 0 ? "from 0" : "to 0";
          row.append(cell(b, "mean"), element("td", { class: tone }, change), cell(a, "high"), cell(b, "high"));
        } else row.append(cell(a, "low"), cell(a, "high"));
        rows.push(row);
      });
      if (rows.length) body.append(element("tr", { class: "group" }, element("th", { scope: "colgroup", colspan: columns.length }, panel.title)), ...rows);
    }
    const about = state.b ? `A: ${said(state.a)}. B: ${said(state.b)}.` : said(state.a);
    table.replaceChildren(element("caption", {}, about), element("thead", {}, element("tr", {}, ...columns)), body);
  };

  // ---- stacks -----------------------------------------------------------------------------------------------------

  // The tree of a stretch: its slices added up.
  const treeOfStretch = (stretch, byThread) => {
    const flame = recordings[stretch.number].flame;
    if (!flame) return treeOf(null, null, byThread);
    const from = Math.max(0, Math.floor((stretch.from - flame.from) / flame.slice + 1e-6));
    const to = Math.min(flame.slices.length - 1, Math.ceil((stretch.to - flame.from) / flame.slice - 1e-6));
    return treeOf(flame, added(flame, flame.slices.slice(from, to + 1)), byThread);
  };
  const hasStacks = (name) => Boolean(state[name] && recordings[state[name].number].flame);
  const separated = (value) => value.toLocaleString("en-US");
  const picture = (view, byThread) => {
    const isDifference = view === "difference";
    const names = isDifference ? ["a", "b"] : [view];
    const [a, b] = names.map((name) => treeOfStretch(state[name], byThread));
    const count = (tree) => Math.max(tree.all, 1);
    const tree = isDifference ? merged(a, b, count(a), count(b)) : single(a, count(a));
    const flames = [...new Set(names.map((name) => recordings[state[name].number].flame))];
    const folded = flames.reduce((total, flame) => total + flame.folded, 0);
    const rest = folded ? ` ${separated(folded)} stacks that were hardly seen end at their caller.` : "";
    const said = isDifference
      ? `Kernel: ${percent(kernelOf(tree, "ownA"))} of ${separated(a.all)} samples in A, ${percent(kernelOf(tree, "ownB"))} of ${separated(b.all)} in B. Widths are the mean of both.` + rest
      : `Kernel: ${percent(kernelOf(tree, "ownA"))} of ${separated(a.all)} samples.` + rest;
    return { tree, isDifference, said, nothing: a.all || (b && b.all) ? null : "No CPU was seen in this stretch." };
  };
  const flames = flameGraph({
    views: [["a", "A"], ["b", "B"], ["difference", "A to B: what changed"]],
    now: () => ["a", "b", "difference"].filter((view) => (view === "difference" ? hasStacks("a") && hasStacks("b") : hasStacks(view))),
    first: two ? "difference" : "a",
    picture,
  });

  // ---- all together -----------------------------------------------------------------------------------------------

  makePanels();
  makeStretches();
  clearTimeout(due);
  drawCounters();
  flames.draw();

  // Colours are read when something is drawn: drawn again when the reader's change.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const { plot, lines } of drawn) {
      lines.forEach((line, at) => { plot.series[at + 1].stroke = () => colour(line.place); });
      for (const axis of plot.axes) { axis.stroke = () => style("--soft"); axis.grid.stroke = () => style("--line"); }
      plot.redraw(false, true);
    }
    document.querySelectorAll(".lines i").forEach((swatch) => { if (swatch.style.background) swatch.style.background = colour(Number(swatch.dataset.at)); });
  });
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
