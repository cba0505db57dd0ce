import { h, s } from "./dom.js";

// Black's win rate over the moves. `rates` holds null where nothing is known; the line connects
// the known ones: engines that comment only on their own moves leave out every second one.

const HEIGHT = 210, LEFT = 40, RIGHT = 10, TOP = 12, BOTTOM = 24, ROW = 17;

/**
 * The graph of a game: {element, show(ply)}. `onPly` is called with the ply clicked or dragged to.
 * labels: {title, phases: [opening, middlegame, endgame]}
 */
export function createGraph(game, labels, onPly) {
  const last = Math.max(game.rates.length - 1, 1);
  const holder = h("div", { class: "graph-holder" });
  let width = 700, cursor = null, current = 0;
  const x = (ply) => LEFT + (width - LEFT - RIGHT) * ply / last;
  const y = (rate) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - rate);

  // Beside its line, right of it if there is room, or above the names that are in the way.
  function placeOf(at, label, named) {
    const wide = [...label].reduce((sum, letter) => sum + (letter > "\u2e80" ? 12 : 7.5), 0);
    for (let row = 0; ; row++) {
      for (const left of [at + 4, at - 4 - wide]) {
        const right = left + wide;
        if (left < LEFT || right > width - RIGHT) continue;
        if (named.some((one) => one.row === row && left < one.right + 4 && one.left - 4 < right)) continue;
        named.push({ row, left, right });
        return { row, left };
      }
      if (row > named.length) return { row, left: LEFT };
    }
  }

  function draw() {
    const view = s("svg", { class: "graph", viewBox: `0 0 ${width} ${HEIGHT}`, role: "slider", tabindex: 0, "aria-label": labels.title, "aria-valuemin": 0, "aria-valuemax": last });
    const middle = y(0.5), bottom = HEIGHT - BOTTOM;
    const named = [];
    game.phases.forEach((phase, ply) => {
      if (ply && phase !== game.phases[ply - 1]) {
        const label = labels.phases[phase], place = placeOf(x(ply), label, named);
        view.append(s("path", { class: "phase", d: `M${x(ply)} ${TOP}V${bottom}` }));
        view.append(s("text", { class: "phase-name", x: place.left, y: bottom - 5 - place.row * ROW }, label));
      }
    });
    for (const part of [0, 25, 50, 75, 100]) {
      view.append(s("path", { class: part === 50 ? "even" : "grid", d: `M${LEFT} ${y(part / 100)}H${width - RIGHT}` }));
      view.append(s("text", { x: LEFT - 6, y: y(part / 100) + 4, "text-anchor": "end" }, `${part}%`));
    }
    const step = [5, 10, 20, 50, 100, 200, 500].find((size) => (width - LEFT) / (last / size) > 36) || 500;
    for (let ply = 0; ply <= last; ply += step) {
      view.append(s("text", { x: x(ply), y: HEIGHT - 7, "text-anchor": "middle" }, String(ply)));
    }
    const known = game.rates.flatMap((rate, ply) => rate === null ? [] : [[x(ply).toFixed(1), y(rate).toFixed(1)]]);
    if (known.length) {
      const points = known.map((point) => point.join(",")).join(" ");
      const closed = `${known[0][0]},${middle} ${points} ${known[known.length - 1][0]},${middle}`;
      view.append(s("polygon", { class: "area", points: closed }), s("polyline", { class: "rate", points: `${known[0].join(",")} ${points}` })); // one point, twice, is a dot
    }
    game.marks.forEach((grade, i) => {
      if (grade === null || game.rates[i + 1] === null) return;
      view.append(s("circle", { class: `dot grade${grade}`, cx: x(i + 1), cy: y(game.rates[i + 1]), r: 6 - grade }));
    });
    cursor = s("path", { class: "cursor" });
    view.append(cursor);
    const go = (event) => {
      const box = view.getBoundingClientRect();
      const at = (event.clientX - box.left) / box.width * width;
      onPly(Math.min(last, Math.max(0, Math.round((at - LEFT) / (width - LEFT - RIGHT) * last))));
    };
    view.addEventListener("pointerdown", (event) => {
      view.setPointerCapture(event.pointerId);
      go(event);
    });
    view.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) go(event);
    });
    holder.replaceChildren(view);
    show(current);
  }

  function show(ply) {
    current = ply;
    if (!cursor) return;
    cursor.setAttribute("d", `M${x(ply)} ${TOP}V${HEIGHT - BOTTOM}`);
    cursor.parentNode.setAttribute("aria-valuenow", ply);
  }

  draw(); // to be printed before the first layout, too
  new ResizeObserver(() => {
    const now = Math.max(280, Math.round(holder.clientWidth));
    if (now === width || !holder.isConnected) return;
    width = now;
    draw();
  }).observe(holder);
  return { element: holder, show };
}
