// What pages with stacks share: numbers as people read them, the tree of what was seen, the flame graph with its tools, and the
// table of functions. Text is put where text goes: names of processes and symbols are anyone's, and never become markup.
"use strict";
const pagewise = (() => {
  const byId = (id) => document.getElementById(id);
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value === true) made.setAttribute(key, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  };

  // ---- numbers as people read them --------------------------------------------------------------------------------

  const digits = (value, most = 3) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    const decimals = Math.max(0, Math.min(6, most - 1 - Math.floor(Math.log10(size))));
    return value.toLocaleString("en-US", { maximumFractionDigits: decimals });
  };
  const percent = (part) => digits(part * 100) + "\u00a0%";
  const signed = (value, text) => (value >= 0 ? "+" : "−") + text(Math.abs(value));

  // ---- trees ------------------------------------------------------------------------------------------------------

  const keyOf = (at) => at.name + "\u0000" + at.module + "\u0000" + at.side;
  // How often each node itself was seen: lists of (nodes to go on, how often), added up.
  const added = (flame, lists) => {
    const own = new Float64Array(flame.parents.length);
    for (const counts of lists) for (let at = 0, node = 0; at < counts.length; at += 2) { node += counts[at]; own[node] += counts[at + 1]; }
    return own;
  };
  // Each node with how often it was seen itself (own) and with what it calls (all). `rest` was seen in no node that is there.
  const treeOf = (flame, own, byThread, rest = 0) => {
    const root = { name: "all", module: "", side: "p", own: rest, all: rest, children: new Map() };
    if (!flame) return root;
    const all = Float64Array.from(own);
    for (let node = all.length - 1; node >= 0; node -= 1) {
      if (flame.parents[node]) all[flame.parents[node] - 1] += all[node]; else root.all += all[node];
    }
    const made = new Array(all.length);
    for (let node = 0; node < all.length; node += 1) {
      if (!all[node]) continue;
      const parent = flame.parents[node] ? made[flame.parents[node] - 1] : root;
      const at = flame.functions[flame.frames[node]];
      if (at.side === "p" && !byThread) { made[node] = root; root.own += own[node]; continue; }
      const key = at.key || (at.key = keyOf(at));
      let child = parent.children.get(key);
      if (!child) { child = { name: at.name, module: at.module, side: at.side, own: 0, all: 0, children: new Map() }; parent.children.set(key, child); }
      child.own += own[node];
      child.all += all[node];
      made[node] = child;
    }
    return root;
  };
  // Two trees as one: parts of `wholeA` and `wholeB`, as wide as the mean of both.
  const merged = (a, b, wholeA, wholeB) => {
    const keys = new Set([...(a ? a.children.keys() : []), ...(b ? b.children.keys() : [])]);
    const one = a || b;
    const node = { name: one.name, module: one.module, side: one.side, a: a ? a.all / wholeA : 0, b: b ? b.all / wholeB : 0,
      ownA: a ? a.own / wholeA : 0, ownB: b ? b.own / wholeB : 0, children: [] };
    node.value = (node.a + node.b) / 2;
    for (const key of keys) node.children.push(merged(a && a.children.get(key), b && b.children.get(key), wholeA, wholeB));
    return node;
  };
  const single = (at, whole) => ({ name: at.name, module: at.module, side: at.side, a: at.all / whole, ownA: at.own / whole, value: at.all / whole,
    children: [...at.children.values()].map((child) => single(child, whole)) });
  // What nobody could see is left out: below a thousandth, and beyond a few thousand boxes.
  const most = 4000;
  const culled = (root) => {
    const values = [];
    const visible = root.value / 1000;
    (function gather(at) { for (const child of at.children) if (child.value >= visible) { values.push(child.value); gather(child); } })(root);
    const least = values.length > most ? values.sort((x, y) => y - x)[most] : 0;
    return (function cut(at) {
      const children = at.children.filter((child) => child.value >= visible && child.value > least).sort((x, y) => (x.name < y.name ? -1 : 1));
      return { ...at, children: children.map(cut) };
    })(root);
  };
  // Each function once: what it did itself, and what it did with all it called, counted once per stack.
  const functionsOf = (root) => {
    const found = new Map();
    const path = new Map();
    (function walk(at, depth) {
      if (depth > 0 && at.side !== "p") {
        const key = keyOf(at);
        let one = found.get(key);
        if (!one) { one = { name: at.name, module: at.module, side: at.side, a: 0, b: 0, ownA: 0, ownB: 0 }; found.set(key, one); }
        one.ownA += at.ownA; one.ownB += at.ownB || 0;
        if (!path.get(key)) { one.a += at.a; one.b += at.b || 0; }
        path.set(key, (path.get(key) || 0) + 1);
        at.children.forEach((child) => walk(child, depth + 1));
        path.set(key, path.get(key) - 1);
      } else at.children.forEach((child) => walk(child, depth + 1));
    })(root, 0);
    return [...found.values()];
  };
  // What functions of the kernel did themselves, on one side.
  const kernelOf = (root, side) => functionsOf(root).filter((one) => one.side === "k").reduce((total, one) => total + one[side], 0);

  // ---- the flame graph --------------------------------------------------------------------------------------------

  const sides = { k: "--kernel", u: "--user", j: "--jit", p: "--process" };
  const words = { k: "kernel", u: "programs and libraries", j: "compiled at run time", p: "threads" };
  const mix = (from, to, part) => `color-mix(in srgb, ${style(to)} ${Math.round(Math.max(0, Math.min(1, part)) * 100)}%, ${style(from)})`;
  const fill = (at, isDifference) => {
    if (at.highlight) return style("--found");
    if (!isDifference) return style(sides[at.data.side]);
    const change = at.data.b - at.data.a;
    return mix("--same", change > 0 ? "--more" : "--less", Math.abs(change) / Math.max(at.data.a, at.data.b, 1e-9));
  };
  const where = (at) => (at.module ? ` (${at.module})` : "");

  // How parts of all that was seen are written: in a sentence (told the whole, too), in a table, and as a change.
  const shares = { said: (part) => percent(part), cell: percent, change: (value) => digits(value * 100), unit: "points" };

  // `views`: every view with its name. `now()`: those that can be drawn. `picture(view, byThread)`: what to draw, as
  // `{ tree, isDifference, said, nothing }`. `tools`: elements that stand before the others.
  const flameGraph = ({ views, now, first, picture, numbers = shares, hasThreads = true, tools = [] }) => {
    const section = byId("flame"), box = byId("flame-chart"), detail = byId("flame-detail");
    const state = { view: first, byThread: false, search: "" };
    let chart = null, here = null, drawn = null, width = 0;
    const say = (at) => drawn.isDifference
      ? `${at.name}${where(at)}: A ${numbers.said(at.a, drawn.tree.a)}, B ${numbers.said(at.b, drawn.tree.b)}, ${signed(at.b - at.a, numbers.change)} ${numbers.unit}`
      : `${at.name}${where(at)}: ${numbers.said(at.a, drawn.tree.a)}, itself ${numbers.said(at.ownA, drawn.tree.a)}`;

    const buttons = new Map(views.map(([view, text]) => [view, element("button", { type: "button", onclick: () => { state.view = view; draw(); } }, text)]));
    const search = element("input", { type: "search", placeholder: "Find a function", "aria-label": "Find a function", oninput: () => {
      state.search = search.value;
      if (!chart) return;
      if (state.search) chart.search(state.search);
      else { chart.clear(); detail.textContent = "\u00a0"; }
    } });
    const threads = element("input", { type: "checkbox", onchange: () => { state.byThread = threads.checked; draw(); } });
    byId("flame-tools").append(...tools, ...buttons.values(), ...(hasThreads ? [element("label", {}, threads, "by thread")] : []), search,
      element("button", { type: "button", onclick: () => chart && chart.resetZoom() }, "Reset zoom"));

    const drawKey = () => {
      const swatch = (background, text) => { const i = element("i"); i.style.background = background; return element("span", {}, i, text); };
      byId("flame-key").replaceChildren(...(drawn.isDifference
        ? [swatch(style("--more"), "a larger part in B"), swatch(style("--less"), "a smaller part in B"), swatch(style("--same"), "the same")]
        : Object.keys(sides).filter((side) => side !== "p" || state.byThread).map((side) => swatch(style(sides[side]), words[side]))));
    };
    const drawFunctions = () => {
      const weight = drawn.isDifference ? (one) => Math.abs(one.ownB - one.ownA) : (one) => one.ownA;
      const top = functionsOf(drawn.tree).sort((x, y) => weight(y) - weight(x) || (x.name < y.name ? -1 : 1)).slice(0, 40);
      const columns = drawn.isDifference ? ["A itself", "B itself", "change, " + numbers.unit, "A with calls", "B with calls"] : ["itself", "with calls"];
      const rows = top.map((one) => {
        const cells = drawn.isDifference
          ? [numbers.cell(one.ownA), numbers.cell(one.ownB), signed(one.ownB - one.ownA, numbers.change), numbers.cell(one.a), numbers.cell(one.b)]
          : [numbers.cell(one.ownA), numbers.cell(one.a)];
        return element("tr", {}, ...cells.map((text) => element("td", {}, text)),
          element("th", { scope: "row", class: "text name", title: one.name }, element("bdi", {}, one.name)), element("td", { class: "text" }, element("bdi", {}, one.module)));
      });
      byId("functions").replaceChildren(
        element("caption", {}, (drawn.isDifference ? "The forty whose own part changed most." : "The forty that were seen most.") + " With calls: the function and all it called."),
        element("thead", {}, element("tr", {}, ...columns.map((text) => element("th", { scope: "col" }, text)), element("th", { scope: "col", class: "text" }, "function"), element("th", { scope: "col", class: "text" }, "module"))),
        element("tbody", {}, ...rows));
    };
    const draw = () => {
      const possible = now();
      section.hidden = !possible.length;
      if (section.hidden) return;
      width = box.clientWidth;
      if (!possible.includes(state.view)) state.view = possible[0];
      for (const [view, button] of buttons) {
        button.setAttribute("aria-pressed", String(view === state.view));
        button.hidden = possible.length < 2 || !possible.includes(view);
      }
      drawn = picture(state.view, state.byThread);
      box.replaceChildren();
      here = null;
      byId("flame-said").textContent = drawn.said;
      drawKey();
      drawFunctions();
      if (drawn.nothing) { chart = null; box.append(element("p", { class: "note" }, drawn.nothing)); return; }
      const tree = culled(drawn.tree);
      tree.name = drawn.isDifference ? "A to B" : "all";
      chart = flamegraph().width(Math.max(width - 14, 200)).cellHeight(18).transitionDuration(0).minFrameSize(1.2).selfValue(false).title("")
        .setColorMapper((at) => fill(at, drawn.isDifference))
        .setLabelHandler((at) => say(at.data))
        .setSearchMatch((at, term) => term && (at.data.name + " " + at.data.module).toLowerCase().includes(term.toLowerCase()))
        .setSearchHandler((results, sum, whole) => { detail.textContent = results.length ? `Found: ${percent(sum / whole)} of samples pass through what matches.` : "Nothing matches."; })
        .setDetailsHandler((text) => { if (text) detail.textContent = text; });
      d3.select(box).datum(tree).call(chart);
      box.scrollTop = box.scrollHeight;
      if (state.search) chart.search(state.search);
      const svg = box.querySelector("svg");
      svg.setAttribute("aria-hidden", "true");
      svg.style.display = "block";
    };

    const frames = () => [...box.querySelectorAll("g.frame")].filter((g) => Number(g.getAttribute("width")) > 0);
    const moveTo = (at) => {
      const g = frames().find((g) => g.__data__ === at);
      if (!g) return;
      box.querySelectorAll("g.here").forEach((old) => old.classList.remove("here"));
      g.classList.add("here");
      here = at;
      detail.textContent = say(at.data);
      g.scrollIntoView({ block: "nearest" });
    };
    const step = (key) => {
      const seen = new Set(frames().map((g) => g.__data__));
      const root = frames().map((g) => g.__data__).find((at) => !at.parent);
      if (!here || !seen.has(here)) return moveTo(root);
      const widest = (list) => list.filter((at) => seen.has(at)).sort((x, y) => y.value - x.value)[0];
      if (key === "ArrowUp") return moveTo(widest(here.children || []));
      if (key === "ArrowDown") return moveTo(here.parent);
      const siblings = here.parent ? here.parent.children.filter((at) => seen.has(at)).sort((x, y) => x.x0 - y.x0) : [];
      return moveTo(siblings[siblings.indexOf(here) + (key === "ArrowLeft" ? -1 : 1)]);
    };
    box.addEventListener("keydown", (event) => {
      if (event.key.startsWith("Arrow")) { event.preventDefault(); step(event.key); }
      else if (event.key === "Enter" && here && chart) { const at = here; chart.zoomTo(at); moveTo(at); }
      else if (event.key === "Escape" && chart) chart.resetZoom();
    });

    // Colours are read when something is drawn: drawn again when the reader's change.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    new ResizeObserver(() => {
      if (box.clientWidth && Math.abs(box.clientWidth - width) > 4) draw();
    }).observe(box);
    return { draw, choose: (view) => { state.view = view; } };
  };

  return { byId, style, element, digits, percent, added, treeOf, merged, single, kernelOf, flameGraph };
})();
