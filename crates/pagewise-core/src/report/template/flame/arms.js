// The page of a trial whose runs kept stacks: a differential flame graph of each contrast.
"use strict";
(() => {
  const { byId, element, digits, percent, added, treeOf, merged, single, kernelOf, flameGraph } = pagewise;
  const data = JSON.parse(byId("data").textContent);
  let shown = 0;

  // A side of a contrast is the mean of its cells, and a cell the mean of its runs, in millionths of a CPU.
  const treeOfSide = ({ cells }) => {
    const of = cells.map((cell) => data.cells[cell]);
    return treeOf(data, added(data, of.map(({ own }) => own)), false, of.reduce((sum, { rest }) => sum + rest, 0));
  };
  const whole = ({ cells }) => 1e6 * cells.length;

  const picture = (view) => {
    const { a, b } = data.comparisons[shown];
    const [treeA, treeB] = [a, b].map(treeOfSide);
    const isDifference = view === "difference";
    const both = merged(treeA, treeB, whole(a), whole(b));
    const tree = isDifference ? both : view === "a" ? single(treeA, whole(a)) : single(treeB, whole(b));
    const kernel = (side, all) => percent(all ? kernelOf(both, side) / all : 0);
    const said = `CPUs that were busy on average: ${digits(both.a)} in A (${a.label}), ${digits(both.b)} in B (${b.label}); `
      + `in the kernel ${kernel("ownA", both.a)} and ${kernel("ownB", both.b)} of that.`
      + (isDifference ? " Widths are the mean of both." : "");
    return { tree, isDifference, said, nothing: both.a || both.b ? null : "No CPU was seen in these runs." };
  };

  const choice = element("select", { onchange: () => { shown = Number(choice.value); flames.draw(); } },
    ...data.comparisons.map(({ name }, at) => element("option", { value: at }, name)));
  const flames = flameGraph({
    views: [["a", "A"], ["b", "B"], ["difference", "A to B: what changed"]],
    now: () => ["a", "b", "difference"],
    first: "difference",
    picture,
    numbers: { said: (cpus, all) => `${digits(cpus)} CPUs (${percent(all ? cpus / all : 0)})`, cell: digits, change: digits, unit: "CPUs" },
    hasThreads: false,
    tools: data.comparisons.length > 1 ? [element("label", {}, "contrast", choice)] : [],
  });
  flames.draw();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
