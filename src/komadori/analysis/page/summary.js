import { format, h, s } from "./dom.js";

// Both sides beside each other: accuracy, mistakes, the histogram of losses, the phases.

const points = (loss) => (100 * loss).toFixed(1);

/** `names`: of the sides; `grade(i)`: the name of a class of mistakes; `t`: texts. */
export function drawSummary(game, data, names, grade, t) {
  const side = (turn, row) => h("td", { class: "n" }, row(game.sides[turn]));
  const line = (label, row, kind = "") => h("tr", {}, h("th", { class: kind }, label), side(0, row), side(1, row));
  const table = h("table", { class: "summary" },
    h("thead", {}, h("tr", {}, h("td"), ...[0, 1].map((turn) => h("th", { class: "n" }, `${"☗☖"[turn]}${names[turn]}`)))),
    h("tbody", {},
      line(t.accuracy, (one) => one.accuracy === null ? "–" : `${one.accuracy.toFixed(1)}%`),
      line(t.same, (one) => one.compared ? `${one.same} / ${one.compared}` : "–"),
      line(t.meanLoss, (one) => one.moves ? points(one.loss) : "–"),
      data.grades.map((_, i) => data.grades.length - 1 - i).map((i) => line(
        [h("span", { class: `badge grade${i}` }), grade(i)], (one) => one.moves ? String(one.mistakes[i]) : "–")),
    ),
  );
  const phases = h("table", { class: "summary" },
    h("thead", {}, h("tr", {}, h("td"), ...[0, 1].map((turn) => h("th", { class: "n" }, `${"☗☖"[turn]}${names[turn]}`)))),
    h("tbody", {}, [t.opening, t.middlegame, t.endgame].map((label, phase) => line(label, (one) => {
      const [moves, loss, mistakes] = one.phases[phase];
      if (!moves) return "–";
      return [h("span", { class: "whole" }, points(loss), h("span", { class: "soft", title: moves === 1 ? t.moveOf : format(t.movesOf, moves) }, ` (${moves})`)), " ",
        mistakes.map((count, i) => count ? h("span", { class: `tag grade${i}`, title: grade(i) }, `×${count}`) : null)];
    }))),
  );
  return h("div", { class: "columns" },
    h("section", {}, h("h3", {}, t.summary), table),
    h("section", {}, h("h3", {}, t.phases), phases),
    h("section", {}, h("h3", {}, t.histogram), histogram(game, data, names)),
  );
}

function histogram(game, data, names) {
  const width = 320, height = 150, base = height - 34, count = data.bins.length;
  const most = Math.max(1, ...game.sides.flatMap((one) => one.histogram));
  const view = s("svg", { class: "histogram", viewBox: `0 0 ${width} ${height}`, role: "img" });
  const cell = width / count, bar = (cell - 8) / 2;
  data.bins.forEach((bound, i) => {
    const grade = data.grades.findIndex(([, , least]) => bound >= least);
    for (const turn of [0, 1]) {
      const number = game.sides[turn].histogram[i], tall = (base - 16) * number / most;
      const x = i * cell + 4 + turn * bar;
      view.append(s("rect", { class: `bar side${turn} ${grade >= 0 ? `grade${grade}` : "fine"}`, x, y: base - tall, width: bar - 1, height: tall }));
      if (number) view.append(s("text", { x: x + bar / 2, y: base - tall - 4, "text-anchor": "middle" }, String(number)));
      view.append(s("text", { class: "side-mark", x: x + bar / 2, y: base + 13, "text-anchor": "middle" }, "☗☖"[turn]));
    }
    const next = data.bins[i + 1];
    const label = next === undefined ? `${100 * bound}–` : i ? `${100 * bound}–${100 * next}` : `<${100 * next}`;
    view.append(s("text", { x: (i + 0.5) * cell, y: height - 5, "text-anchor": "middle" }, label));
  });
  view.append(s("path", { class: "axis", d: `M0 ${base}H${width}` }));
  view.setAttribute("aria-label", names.map((name, turn) => `${name} ${game.sides[turn].histogram.join(" ")}`).join(" / "));
  return view;
}
