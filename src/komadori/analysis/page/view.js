import { format, h, s } from "./dom.js";
import { defineSymbols, drawBoard, parseSfen, play, toSfen } from "./board.js";
import { createGraph } from "./graph.js";
import { drawSummary } from "./summary.js";

const TURNING_POINTS = 10;
/** Moves of the best line that a turning point's second board shows. */
const SHOWN_PLIES = 5;
const ENDS = { DRAW: 0, BLACK: 1, WHITE: 2 };

/**
 * Shows an analysis inside `element`.
 *
 * data: what komadori.analysis.page.page_data (or an index) gives.
 * options: assets {texts, symbols, grids}; language "auto", "ja" or "en"; pieces "kanji",
 * "western" or null; onPosition(game, ply, sfen), called when the board changes.
 * Returns {go(ply), openGame(index, ply), update(data)}. The address #60 goes to the position after 60
 * moves, #g2p31 opens game 2 after 31 moves; it follows the board.
 */
export function mount(element, data, options) {
  const { assets } = options;
  let language = options.language === "auto" || !options.language
    ? (navigator.language || "").toLowerCase().startsWith("ja") ? "ja" : "en"
    : options.language;
  let pieces = options.pieces;
  let number = 0, ply = 0, flipped = false, preview = null, parts = {}, noting = 0;

  defineSymbols(assets);
  const t = () => assets.texts[language];
  const game = () => data.games[number];
  const style = () => pieces || (language === "ja" ? "kanji" : "western");
  const gradeName = (i) => data.grades[i][language === "ja" ? 1 : 0];
  const moveText = (i) => language === "ja" ? game().ki2[i] : game().west[i];
  const lineText = (line, i) => language === "ja" ? line.ki2[i] : line.west[i];
  // Rounded down, so that a loss agrees with its grade.
  const pointsLost = (loss) => (Math.floor(1000 * loss + 1e-6) / 10).toFixed(1);
  /** Time spent on move i, as 0:07 or 1:02:03; null if unknown. */
  const timeSpent = (i) => {
    const ms = game().times[i];
    if (ms === null) return null;
    const seconds = Math.floor(ms / 1000), two = (n) => String(n).padStart(2, "0");
    const hours = Math.floor(seconds / 3600), minutes = Math.floor(seconds / 60) % 60;
    return `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)}`;
  };
  const percent = (rate) => `${Math.round(100 * rate)}%`;

  function sideNames(one) {
    return one.handicap ? [t().lower, t().upper] : [t().black, t().white];
  }

  function resultText(one) {
    const why = t()[`end_${one.end}`] || "";
    const who = one.winner === ENDS.DRAW ? t().drawn
      : one.winner === ENDS.BLACK ? format(t().won, sideNames(one)[0])
        : one.winner === ENDS.WHITE ? format(t().won, sideNames(one)[1]) : t().noResult;
    return why ? `${who}${language === "ja" ? `（${why}）` : ` (${why})`}` : who;
  }

  function handicapText(one) {
    return language === "ja" ? one.handicap[1] : t()[`hc_${one.handicap[0]}`] || one.handicap[0];
  }

  function positionAt(end) {
    let position = parseSfen(game().sfen);
    for (const usi of game().moves.slice(0, end)) position = play(position, usi);
    return position;
  }

  function worth(line) {
    if (line.mate !== null) {
      const plies = Math.abs(line.mate);
      return format(plies < data.unknownLength ? t().mates : t().matesSometime,
        sideNames(game())[line.mate > 0 ? 0 : 1], plies);
    }
    const score = line.cp === null ? "" : ` (${line.cp > 0 ? "+" : ""}${line.cp})`;
    return `${format(t().winRate, sideNames(game())[0], percent(line.rate))}${score}`;
  }

  // The bar at the top, the same on every page.
  function bar() {
    return h("div", { class: "bar" },
      data.games && data.games.length > 1 && parts.inGame
        ? h("button", { onclick: () => showList() }, `← ${t().backToIndex}`) : null,
      h("span", { class: "grow" }),
      h("button", { title: t().pieces, onclick: () => { pieces = style() === "kanji" ? "western" : "kanji"; render(); } },
        `${t().pieces}: ${style() === "kanji" ? t().western : t().kanji}`),
      h("button", { lang: language === "ja" ? "en" : "ja", onclick: () => { language = language === "ja" ? "en" : "ja"; render(); } }, t().language));
  }

  function heading() {
    const note = typeof data.note === "string" ? data.note : data.note[language];
    return [h("h1", {}, data.title), note ? h("p", { class: "soft" }, note) : null];
  }

  function trust(one) {
    const reasons = { rating: t().strongerRating, professional: t().strongerProfessional, program: t().strongerProgram };
    const warnings = one.stronger.map((player) => h("p", { class: "warning" }, format(reasons[player.reason], player.name, player.rating)));
    const strength = data.strength && data.strength[language];
    if (!strength && !warnings.length) return null;
    return h("section", { class: "trust" }, h("h3", {}, t().strengthTitle), strength ? h("p", {}, strength) : null, warnings);
  }

  function headers(one) {
    const rows = one.headers.map(([key, value]) => [key === "opening" ? t().opening_ : t()[key], value]);
    if (one.handicap) rows.push([t().handicap, handicapText(one)]);
    rows.push([t().result, `${resultText(one)} · ${one.plies === 1 ? t().moveOf : format(t().movesOf, one.plies)}`]);
    if (one.engine) rows.push(["", format(t().engineOf, one.engine)]);
    return h("dl", { class: "headers" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }

  function players(one) {
    const rating = (turn) => one.ratings[turn] === null ? null : h("span", { class: "soft" }, ` ${Math.round(one.ratings[turn])}`);
    return h("h2", { class: "players" }, [0, 1].map((turn) => h("span", {}, h("span", { class: "side-name" }, `${"☗☖"[turn]}${sideNames(one)[turn]} `), one[turn ? "white" : "black"] || "?", rating(turn))));
  }

  /** A table of games: columns without any content are left out. linkOf(game, number): its first cell. */
  function list(games, linkOf) {
    const side = (turn) => [
      [`${"☗☖"[turn]} ${t().accuracy}`, "n", (one) => one.sides[turn].accuracy === null ? "–" : `${one.sides[turn].accuracy.toFixed(0)}%`],
      [`${"☗☖"[turn]} ${t().mistakesOf}`, "", (one) => one.sides[turn].mistakes.map((count, i) => count ? h("span", { class: `tag grade${i}`, title: gradeName(i) }, `×${count}`) : null)],
    ];
    const columns = [
      [t().players, "", linkOf],
      games.some((one) => one.event) && [t().event, "detail", (one) => one.event],
      games.some((one) => one.date) && [t().date, "nowrap detail", (one) => one.date],
      [t().result, "", resultText],
      [t().plies, "n", (one) => String(one.plies)],
      ...side(0), ...side(1),
    ].filter(Boolean);
    return h("div", { class: "scroll" }, h("table", { class: "index" },
      h("thead", {}, h("tr", {}, columns.map(([name, kind]) => h("th", { class: kind }, name)))),
      h("tbody", {}, games.map((one, i) => h("tr", {}, columns.map(([name, kind, cell]) => h("td", { class: kind, "data-name": name }, cell(one, i))))))));
  }

  const names = (one) => [0, 1].map((turn) => `${"☗☖"[turn]}${one[turn ? "white" : "black"] || sideNames(one)[turn]}`).join(" ");

  function renderList() {
    const games = data.index
      ? list(data.index, (one) => [h("a", { href: one.href }, names(one)), h("div", { class: "soft" }, one.file)])
      : list(data.games, (one, i) => h("a", { href: `#g${i + 1}` }, names(one)));
    element.replaceChildren(bar(), ...heading().filter(Boolean), h("h2", {}, t().games), games);
  }

  function moveButton(i) {
    const grade = game().marks[i], spent = timeSpent(i);
    return h("li", {}, h("button", {
      class: "move", "data-ply": i + 1, onclick: () => go(i + 1), title: grade === null ? null : gradeName(grade),
    }, h("span", { class: "number" }, String(i + 1)), h("span", { class: "text" }, moveText(i)),
    spent === null ? null : h("span", { class: "time" }, spent),
    grade === null ? null : h("span", { class: `tag grade${grade}` }, `−${pointsLost(game().losses[i])}`)));
  }

  /** A line whose moves show themselves on the board when they are pointed at or clicked. */
  function lineMoves(line, from) {
    return h("span", { class: "line" }, line.usi.map((_, i) => h("button", {
      class: "pv", onmouseenter: () => hover(from, line, i + 1), onmouseleave: () => hover(null), onfocus: () => hover(from, line, i + 1), onblur: () => hover(null),
      onclick: () => { preview = { from, line, count: i + 1, fixed: true }; drawCurrent(); },
    }, lineText(line, i))), line.more ? " …" : null);
  }

  function hover(from, line, count) {
    if (preview && preview.fixed && from === null) return;
    preview = from === null ? null : { from, line, count };
    drawBoardOnly();
  }

  function boardOf(position, shown) {
    return drawBoard(position, { style: style(), flipped, label: t().game, ...shown });
  }

  function drawBoardOnly() {
    const base = preview ? preview.from : ply;
    let position = positionAt(base), last = base ? game().moves[base - 1] : null, arrows = [];
    if (preview) {
      for (const usi of preview.line.usi.slice(0, preview.count)) {
        position = play(position, usi);
        last = usi;
      }
    } else {
      const played = game().moves[ply], best = game().lines[ply][0];
      if (best && best.usi.length) arrows.push([best.usi[0], "best"]);
      if (played && !(arrows.length && arrows[0][0] === played)) arrows.push([played, "played"]);
    }
    parts.board.replaceChildren(boardOf(position, { last, arrows }));
    parts.position = position;
    const rate = game().rates[base];
    parts.gauge.style.setProperty("--rate", rate === null ? 0.5 : rate);
    parts.gauge.classList.toggle("flipped", flipped);
    if (options.onPosition) options.onPosition(number, base, toSfen(position, base + 1));
  }

  function drawLines() {
    const rows = [], played = game().moves[ply], lines = game().lines[ply];
    const over = game().over[ply];
    if (played) {
      const spent = timeSpent(ply), loss = game().losses[ply], grade = game().marks[ply], same = lines[0] && lines[0].usi[0] === played;
      rows.push(h("div", { class: "played-row" }, h("span", { class: "key played" }), h("b", {}, `${t().played} `), `${ply + 1}. ${moveText(ply)} `,
        spent === null ? null : h("span", { class: "soft" }, `(${spent}) `),
        same ? h("span", { class: "soft" }, t().bestMove)
          : loss === null ? null : [grade === null ? null : h("span", { class: `tag grade${grade}` }, gradeName(grade)), h("span", { class: "soft" }, ` ${format(t().loss, pointsLost(loss))}`)]));
      const reply = game().lines[ply + 1][0];
      if (reply && !same && grade !== null) {
        rows.push(h("div", { class: "after" }, h("span", { class: "soft" }, `${t().afterPlayed}: ${worth(reply)} `), lineMoves(reply, ply + 1)));
      }
    }
    lines.forEach((line, i) => rows.push(h("div", { class: "best-row" },
      h("span", { class: i ? "key" : "key best" }), h("b", {}, i ? `${i + 1}. ` : `${t().best} `), h("span", { class: "worth" }, worth(line)), " ",
      h("span", { class: "soft" }, line.visits ? line.visits === 1 ? t().node : format(t().nodes, line.visits.toLocaleString()) : ""), h("br"), lineMoves(line, ply))));
    if (over) rows.push(h("p", { class: "soft" }, t()[over]));
    const comment = game().comments[ply];
    if (comment) rows.push(h("div", { class: "comment" }, comment));
    parts.lines.replaceChildren(...rows);
  }

  function drawCurrent() {
    drawBoardOnly();
    drawLines();
    parts.graph.show(ply);
    parts.where.textContent = ply ? `${ply}. ${moveText(ply - 1)}` : t().start;
    for (const old of parts.moves.querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
    const button = parts.moves.querySelector(`[data-ply="${ply}"]`);
    if (button) {
      button.setAttribute("aria-current", "step");
      const box = parts.moves, top = button.offsetTop;  // .moves is its offset parent
      if (top < box.scrollTop || top + button.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
    }
  }

  function go(to) {
    ply = Math.min(game().moves.length, Math.max(0, to));
    preview = null;
    drawCurrent();
    noteAddress();
  }

  /** Puts the move into the address, without a step of the browser's history. */
  function noteAddress() {
    clearTimeout(noting);
    noting = setTimeout(() => {
      if (!parts.inGame && data.games.length > 1) return;
      try {
        history.replaceState(null, "", data.games.length > 1 ? `#g${number + 1}p${ply}` : `#${ply}`);
      } catch {
        // An embedded page has no address of its own.
      }
    }, 200);
  }

  /** To the position before the next mistake, or the one before. */
  function seek(step) {
    for (let i = ply + step; i >= 0 && i < game().marks.length; i += step) {
      if (game().marks[i] !== null) return go(i);
    }
    return undefined;
  }

  async function copy(button, text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = h("textarea", {}, text);
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    const old = button.textContent;
    button.textContent = t().copied;
    setTimeout(() => { button.textContent = old; }, 1200);
  }

  function controls() {
    const button = (label, text, action, key) => h("button", { title: key ? `${label} (${key})` : label, "aria-label": label, onclick: action }, text);
    const icon = (d) => s("svg", { viewBox: "0 0 24 24", class: "icon" }, s("path", { d }));
    const usi = () => `position sfen ${game().sfen}${ply ? ` moves ${game().moves.slice(0, ply).join(" ")}` : ""}`;
    return [
      h("div", { class: "controls" },
        button(t().first, icon("M6 5v14M19 5L9 12l10 7z"), () => go(0), "Home"),
        button(t().previous, icon("M17 5L7 12l10 7z"), () => go(ply - 1), "←"),
        button(t().next, icon("M7 5l10 7-10 7z"), () => go(ply + 1), "→"),
        button(t().last, icon("M18 5v14M5 5l10 7-10 7z"), () => go(game().moves.length), "End"),
        button(t().previousMistake, [icon("M13 5L5 12l8 7z"), "!"], () => seek(-1), "Shift+M"),
        button(t().nextMistake, ["!", icon("M11 5l8 7-8 7z")], () => seek(1), "M"),
        button(t().flip, icon("M8 20V6m0 0L4 10m4-4l4 4M16 4v14m0 0l4-4m-4 4l-4-4"), () => { flipped = !flipped; drawCurrent(); }, "F")),
      h("div", { class: "controls copy" }, h("span", { class: "soft" }, t().copy),
        h("button", { onclick: (event) => copy(event.currentTarget, toSfen(parts.position, (preview ? preview.from + preview.count : ply) + 1)) }, "SFEN"),
        h("button", { onclick: (event) => copy(event.currentTarget, usi()) }, "USI"),
        h("button", { onclick: (event) => copy(event.currentTarget, game().kif) }, "KIF")),
    ];
  }

  /** The dearest mistakes with two boards each; they are printed too. */
  function turningPoints() {
    const dear = game().marks.map((grade, i) => ({ grade, i })).filter(({ grade, i }) => grade !== null && game().lines[i].length);
    dear.sort((a, b) => game().losses[b.i] - game().losses[a.i]);
    const shown = dear.slice(0, TURNING_POINTS).sort((a, b) => a.i - b.i);
    if (!shown.length) return h("p", { class: "soft" }, game().sides.some((one) => one.moves) ? t().noMistakes : t().noLosses);
    return shown.map(({ grade, i }) => {
      const best = game().lines[i][0], played = game().moves[i], reply = game().lines[i + 1][0];
      const before = positionAt(i);
      let after = before;
      const count = Math.min(SHOWN_PLIES, best.usi.length);
      for (const usi of best.usi.slice(0, count)) after = play(after, usi);
      // Comments may hold a score without a line.
      const arrows = [...best.usi.slice(0, 1).map((usi) => [usi, "best"]), [played, "played"]];
      // Chromium breaks lines between ▲ and the move in spite of keep-all.
      const whole = (text) => h("span", { class: "whole" }, text);
      const moves = (line, from, end) => line.usi.slice(from, end).flatMap((_, k) => [k ? " " : "", whole(lineText(line, from + k))]);
      return h("article", { id: `m${i + 1}` },
        h("h3", {}, h("a", { href: "#", onclick: (event) => { event.preventDefault(); go(i); parts.board.scrollIntoView({ block: "center" }); } }, `${i + 1}. ${moveText(i)}`), " ",
          h("span", { class: `tag grade${grade}` }, gradeName(grade)), h("span", { class: "soft" }, ` ${format(t().loss, pointsLost(game().losses[i]))}`)),
        h("div", { class: "pair" },
          h("figure", {}, boardOf(before, { last: i ? game().moves[i - 1] : null, arrows }),
            h("figcaption", {}, h("span", { class: "key played" }), format(t().boardPlayed, ""), whole(moveText(i)), reply ? h("span", { class: "soft" }, " ", ...moves(reply, 0, 4), ` · ${worth(reply)}`) : null)),
          count ? h("figure", {}, boardOf(after, { last: best.usi[count - 1] }),
            h("figcaption", {}, h("span", { class: "key best" }), format(t().boardBest, ""), ...moves(best, 0, count), h("span", { class: "soft" }, ` · ${worth(best)}`))) : null));
    });
  }

  function renderGame() {
    const one = game();
    parts = { ...parts, inGame: true };
    parts.board = h("div", { class: "board-holder" });
    parts.gauge = h("div", { class: "gauge", "aria-hidden": "true" }, h("i"));
    parts.lines = h("div", { class: "lines", "aria-live": "polite" });
    parts.where = h("output", { class: "where" });
    parts.moves = h("ol", { class: "moves" }, h("li", {}, h("button", { class: "move", "data-ply": 0, onclick: () => go(0) }, h("span", { class: "number" }, "0"), h("span", { class: "text" }, t().start))), one.moves.map((_, i) => moveButton(i)));
    parts.graph = createGraph(one, { title: format(t().graph, sideNames(one)[0]), phases: [t().opening, t().middlegame, t().endgame] }, go);
    element.replaceChildren(bar(), ...heading().filter(Boolean), players(one), headers(one),
      h("div", { class: "stage" },
        h("div", { class: "left" }, h("div", { class: "board-row" }, parts.gauge, parts.board), parts.where, controls()),
        h("div", { class: "right" }, parts.lines, h("h3", {}, t().moves), parts.moves)),
      h("section", {}, h("h3", {}, format(t().graph, sideNames(one)[0])), parts.graph.element, h("p", { class: "soft no-print" }, t().graphHelp + t().keys)),
      drawSummary(one, data, sideNames(one), gradeName, t()),
      h("h2", {}, t().turning), h("div", { class: "turning" }, turningPoints()), trust(one) || "");
    drawCurrent();
  }

  function showList() {
    history.replaceState(null, "", location.pathname + location.search);
    parts.inGame = false;
    render();
  }

  function openGame(index, at = 0) {
    number = index;
    ply = Math.min(at, game().moves.length);
    preview = null;
    parts.inGame = true;
    render();
  }

  function render() {
    document.documentElement.lang = language;
    if (data.index || (data.games.length > 1 && !parts.inGame)) renderList();
    else renderGame();
  }

  function fromHash() {
    const match = /^#(?:(\d+)|g(\d+)(?:p(\d+))?|p(\d+))$/.exec(location.hash);
    if (!location.hash && parts.inGame && data.games.length > 1) return showList();
    if (!match || !data.games) return;
    const index = match[2] ? Number(match[2]) - 1 : parts.inGame ? number : 0;
    if (data.games[index]) openGame(index, Number(match[1] || match[3] || match[4] || 0));
  }

  element.addEventListener("click", (event) => {
    if (preview && preview.fixed && !event.target.closest(".pv, .copy")) {
      preview = null;
      if (parts.inGame || data.games?.length === 1) drawCurrent();
    }
  }, true);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !parts.moves || !parts.moves.isConnected) return;
    const actions = {
      ArrowRight: () => go(ply + 1), ArrowLeft: () => go(ply - 1), Home: () => go(0), End: () => go(game().moves.length),
      m: () => seek(1), M: () => seek(-1), f: () => { flipped = !flipped; drawCurrent(); },
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
  window.addEventListener("hashchange", fromHash);
  render();
  fromHash();
  return { go, openGame, update(next) { data = next; render(); } };
}
