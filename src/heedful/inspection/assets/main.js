// The page: state, document and events. What is shown follows from `state` (kept in the address) and `hover` alone.

const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
let state = parseState(location.hash, data.traces);
let hover = null; // {row, column}, either may be null
let now = null; // what the state amounts to: trace, map, labels, matrix
let boxes = null; // where the tokens stand, measured when a link is first drawn

function set(changes) {
  state = { ...state, ...changes };
  history.replaceState(null, "", formatState(state));
}

function make(tag, properties = {}, children = []) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function look() {
  const name = state.theme === "auto" ? (dark.matches ? "dark" : "light") : state.theme;
  const colour = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
  return { scale: data.scale[name].map(rgbOf), hatch: colour("--hatch"), grid: colour("--grid") };
}

function focusOf() {
  return hover || { row: state.row, column: state.column };
}

// ---- building what changes with the map

function compute() {
  const trace = data.traces[state.trace];
  const map = trace.maps.find((one) => one.name === state.map);
  const kind = kindOf(map);
  now = { trace, map, kind, labels: labelsOf(trace, kind), matrix: matrixOf(map, headsOf(state, map)), look: look() };
}

function show() {
  document.documentElement.dataset.theme = state.theme;
  compute();
  hover = null;
  showHeader();
  showTokens();
  showChoice();
  showMap();
  showFocus();
}

function showHeader() {
  at("title").textContent = data.title;
  at("theme").textContent = { auto: "◐ auto", light: "☀ light", dark: "☾ dark" }[state.theme];
  if (data.traces.length < 2) return;
  const option = (trace, i) => make("option", { value: i, selected: i === state.trace, textContent: sentenceName(trace, i) });
  const select = make("select", { ariaLabel: "Sentence" }, data.traces.map(option));
  const step = (text, by, name) => {
    const to = state.trace + by;
    const button = make("button", { type: "button", textContent: text, ariaLabel: name });
    button.disabled = to < 0 || to >= data.traces.length;
    button.onclick = () => chooseTrace(to);
    return button;
  };
  select.onchange = () => chooseTrace(Number(select.value));
  at("traces").replaceChildren(step("‹", -1, "Previous sentence"), select, step("›", 1, "Next sentence"));
}

function sentenceName(trace, i) {
  const pieces = trace.source.slice(0, -1);
  const joined = pieces.every((piece) => [...piece].length === 1) || pieces.some((piece) => piece.startsWith("▁"));
  const plain = pieces.join(joined ? "" : " ").replace(/[▁␣]/g, " ").trim();
  return `${i} · ${plain.length > 60 ? `${plain.slice(0, 59)}…` : plain}`;
}

function chooseTrace(trace) {
  const other = data.traces[trace];
  const map = other.maps.find((one) => one.name === state.map) || firstMap(other);
  const heads = state.heads && state.heads.every((head) => head < map.heads) ? state.heads : null;
  set({ trace, map: map.name, heads, row: null, column: null });
  show();
}

function showTokens() {
  const { trace, kind, labels } = now;
  const names = {
    "encoder.self": ["source", "source"],
    "decoder.self": ["consumed", "predicted"],
    "decoder.cross": ["source", "predicted"],
  }[kind];
  at("read-name").replaceChildren(names[0], make("small", { textContent: "is read" }));
  at("query-name").replaceChildren(names[1], make("small", { textContent: "reads" }));
  fillTokens(at("read"), labels.columns, "column", null);
  fillTokens(at("query"), labels.rows, "row", labels.before ? trace.log_p : null);
  boxes = null;
}

function fillTokens(line, tokens, axis, log_p) {
  line.dir = isRightToLeft(tokens) ? "rtl" : "ltr";
  line.replaceChildren(
    ...tokens.map((token, place) => {
      const chip = make("button", { type: "button", className: "token", tabIndex: place === 0 ? 0 : -1 }, [make("bdi", { textContent: token })]);
      chip.dataset.axis = axis;
      chip.dataset.place = place;
      if (log_p) {
        const p = Math.exp(log_p[place]);
        const bar = make("i", { className: "p" });
        bar.style.setProperty("--p", `${Math.round(100 * p)}%`);
        chip.append(bar);
        chip.title = `${rowLabel(now.labels, place)}: probability ${p.toFixed(3)}, log ${log_p[place].toFixed(3)}`;
      }
      return chip;
    }),
  );
}

function showChoice() {
  const { trace, kind, map } = now;
  const kinds = KINDS.filter((one) => mapsOfKind(trace, one).length);
  at("kinds").replaceChildren(
    ...kinds.map((one) => {
      const button = make("button", { type: "button", textContent: KIND_NAMES[one], ariaPressed: String(one === kind) });
      button.onclick = () => chooseKind(one);
      return button;
    }),
  );
  const maps = mapsOfKind(trace, kind);
  const widest = Math.max(...maps.map((one) => one.heads));
  const several = widest > 1;
  at("heads").style.setProperty("--across", widest + (several ? 1 : 0));
  const names = [...(several ? ["mean"] : []), ...Array.from({ length: widest }, (_, head) => String(head))];
  const cells = [make("span", { className: "tag corner", textContent: "layer" }), ...names.map((name) => make("span", { className: "tag", textContent: name }))];
  for (const one of maps) {
    cells.push(make("span", { className: "tag", textContent: layerOf(one) }));
    if (several) cells.push(thumb(one, null));
    for (let head = 0; head < widest; head++) cells.push(head < one.heads ? thumb(one, [head]) : make("span"));
  }
  at("heads").replaceChildren(...cells);
  at("share").value = state.share;
  at("share-value").textContent = `${state.share} %`;
  markChoice(map);
}

function thumb(map, heads) {
  const canvas = make("canvas");
  const grey = document.documentElement.dataset.theme === "dark" || (state.theme === "auto" && dark.matches) ? 46 : 228;
  paintPixels(canvas, matrixOf(map, heads || headsOf({ heads: null }, map)), now.look.scale, [grey, grey, grey, 255]);
  canvas.className = Math.max(map.rows, map.columns) > 40 ? "fine" : "";
  const button = make("button", { type: "button", className: "thumb", title: `${map.name}, ${headName(heads, map)}` }, [canvas]);
  button.ariaLabel = button.title;
  Object.assign(button.dataset, { map: map.name, heads: heads ? heads[0] : "mean" });
  return button;
}

function markChoice(map) {
  for (const button of at("heads").querySelectorAll(".thumb")) {
    const chosen = state.heads || ["mean"];
    const single = map.heads === 1 ? ["mean", 0] : chosen;
    const on = button.dataset.map === map.name && single.map(String).includes(button.dataset.heads);
    button.ariaPressed = String(on);
  }
}

function chooseKind(kind) {
  const maps = mapsOfKind(now.trace, kind);
  const map = maps.find((one) => layerOf(one) === layerOf(now.map)) || maps.at(-1);
  const heads = state.heads && state.heads.every((head) => head < map.heads) ? state.heads : null;
  const sameRows = kind !== "encoder.self" && now.kind !== "encoder.self";
  set({ map: map.name, heads, row: sameRows ? state.row : null, column: null });
  show();
}

function chooseHeads(map, heads) {
  set({ map, heads });
  compute();
  markChoice(now.map);
  showMap();
  showFocus();
}

// ---- the heat map

function showMap() {
  const { map, labels, matrix } = now;
  document.querySelector("main").classList.toggle("long", matrix.columns > 30);
  at("map-name").textContent = `${map.name} · ${headName(state.heads, map)}`;
  const fill = (id, texts, axis) =>
    at(id).replaceChildren(
      ...texts.map((text, place) => {
        const label = make("div", { className: "label", title: text.textContent }, [text]);
        Object.assign(label.dataset, { axis, place });
        return label;
      }),
    );
  const piece = (text) => make("bdi", { textContent: text });
  fill("columns", labels.columns.map(piece), "column");
  fill("rows", labels.rows.map((_, t) => make("span", {}, labels.before ? [piece(labels.before[t]), " → ", piece(labels.rows[t])] : [piece(labels.rows[t])])), "row");
  const steps = data.scale.light.map((_, i) => `rgb(${now.look.scale[i]})`);
  at("scale").style.background = `linear-gradient(90deg, ${steps.join(",")})`;
  at("map-note").textContent =
    (map.encoding === "uint8" ? "Weights are rounded to 1/255 in this file. " : "") +
    (matrix.allowed.includes(0) ? "Hatched: masked, may not be read." : "");
  sizeMap();
}

function sizeMap() {
  const { matrix, look: colours } = now;
  const heat = at("heat");
  heat.style.setProperty("--cell", "12px");
  const room = heat.clientWidth - at("rows").offsetWidth - 2;
  const cell = Math.max(13, Math.min(46, Math.floor(room / matrix.columns)));
  now.cell = cell;
  heat.style.setProperty("--cell", `${cell}px`);
  paintCells(at("cells"), matrix, cell, colours);
}

function cellAt(event) {
  const box = at("cells").getBoundingClientRect();
  const row = Math.floor((event.clientY - box.top) / now.cell);
  const column = Math.floor((event.clientX - box.left) / now.cell);
  const inside = row >= 0 && row < now.matrix.rows && column >= 0 && column < now.matrix.columns;
  return inside ? { row, column } : null;
}

// ---- what is hovered or pinned

function showFocus() {
  const focus = focusOf();
  showChips(focus);
  showLinks(focus);
  showBands(focus);
  showTable(focus);
}

function showChips({ row, column }) {
  const { matrix, look: colours } = now;
  const lines = {
    column: row === null ? null : lineOf(matrix, "row", row),
    row: row === null && column !== null ? lineOf(matrix, "column", column) : null,
  };
  for (const chip of document.querySelectorAll(".token")) {
    const { axis } = chip.dataset;
    const place = Number(chip.dataset.place);
    const entry = lines[axis] && lines[axis][place];
    const ground = entry && entry.allowed ? shade(colours.scale, entry.weight) : null;
    chip.style.background = ground ? `rgb(${ground})` : "";
    chip.style.color = ground ? inkOn(ground) : "";
    chip.classList.toggle("masked", Boolean(entry) && !entry.allowed);
    chip.classList.toggle("active", (axis === "row" ? row : column) === place);
    chip.ariaPressed = String((axis === "row" ? state.row : state.column) === place);
  }
}

function measure() {
  const origin = at("sentence").getBoundingClientRect();
  const of = (id) =>
    Array.from(at(id).children, (chip) => {
      const box = chip.getBoundingClientRect();
      return { left: box.left - origin.left, top: box.top - origin.top, width: box.width, height: box.height };
    });
  boxes = { upper: of("read"), lower: of("query"), width: origin.width, height: origin.height };
}

function showLinks({ row, column }) {
  const { matrix } = now;
  const share = state.share / 100;
  const links = [];
  const add = (t, strong, only) => {
    for (const entry of largest(lineOf(matrix, "row", t), share)) {
      if (only === null || entry.place === only) links.push({ from: entry.place, to: t, weight: entry.weight, strong });
    }
  };
  if (row !== null) add(row, true, null);
  else if (column !== null) for (let t = 0; t < matrix.rows; t++) add(t, true, column);
  else if (matrix.rows <= 64 && matrix.columns <= 64) for (let t = 0; t < matrix.rows; t++) add(t, false, null);
  if (boxes === null) measure();
  const svg = at("links");
  svg.setAttribute("viewBox", `0 0 ${boxes.width} ${boxes.height}`);
  svg.innerHTML = linkPaths(links, boxes.upper, boxes.lower);
}

function showBands({ row, column }) {
  const { cell } = now;
  const band = (id, place, axis) => {
    at(id).hidden = place === null;
    if (place !== null) at(id).style[axis] = `${place * cell}px`;
  };
  band("band-row", row, "top");
  band("band-column", column, "left");
  for (const label of document.querySelectorAll("#rows .label, #columns .label")) {
    label.classList.toggle("active", (label.dataset.axis === "row" ? row : column) === Number(label.dataset.place));
  }
}

// The row in focus, else the column in focus, else one line a row with what it reads most.
function showTable({ row, column }) {
  const table = at("table");
  if (row !== null) table.replaceChildren(...lineTable("row", row));
  else if (column !== null) table.replaceChildren(...lineTable("column", column));
  else table.replaceChildren(...overview());
  const pinned = hover === null && (state.row !== null || state.column !== null);
  table.classList.toggle("pinned", pinned);
}

function lineTable(axis, index) {
  const { labels, matrix, trace } = now;
  const isRow = axis === "row";
  const name = isRow ? rowLabel(labels, index) : labels.columns[index];
  const p = isRow && labels.before ? ` · p ${Math.exp(trace.log_p[index]).toFixed(3)}` : "";
  const caption = make("caption", {}, [make("bdi", { textContent: name }), ` ${isRow ? "reads" : "is read by"}${p}`]);
  const order = ranked(lineOf(matrix, axis, index));
  const shown = state.sort === "place" ? [...order].sort((a, b) => a.place - b.place) : order;
  const kept = new Set(largest(order, state.share / 100).map((entry) => entry.place));
  const lines = shown.map((entry) => {
    const label = isRow ? labels.columns[entry.place] : rowLabel(labels, entry.place);
    const line = make("tr", { className: kept.has(entry.place) ? "kept" : "" }, [
      make("td", { textContent: entry.place }),
      make("th", { scope: "row" }, [make("bdi", { textContent: label })]),
      entry.allowed ? weightCell(entry.weight) : make("td", { className: "masked", textContent: "masked" }),
      make("td", { textContent: entry.allowed && isRow ? entry.cumulative.toFixed(3) : "" }),
    ]);
    Object.assign(line.dataset, { axis: isRow ? "column" : "row", place: entry.place });
    return line;
  });
  const sorter = (key, text) => {
    const button = make("button", { type: "button", textContent: state.sort === key ? `${text} ▾` : text });
    button.onclick = () => (set({ sort: key }), showTable(focusOf()));
    return make("th", { scope: "col", ariaSort: state.sort === key ? (key === "place" ? "ascending" : "descending") : "none" }, [button]);
  };
  const head = make("tr", {}, [
    sorter("place", "#"),
    make("th", { scope: "col", textContent: isRow ? "token" : "row" }),
    sorter("weight", "weight"),
    make("th", { scope: "col", textContent: isRow ? "sum" : "" }),
  ]);
  return [caption, make("thead", {}, [head]), make("tbody", {}, lines)];
}

function weightCell(weight) {
  const cell = make("td", { className: "weight", textContent: weight.toFixed(4), title: shortest(weight) });
  cell.style.setProperty("--w", `${Math.min(100, Math.max(0, 100 * weight))}%`);
  return cell;
}

function overview() {
  const { labels, matrix } = now;
  const lines = labels.rows.map((_, t) => {
    const [best] = ranked(lineOf(matrix, "row", t));
    const nothing = best.weight <= 0;
    const line = make("tr", {}, [
      make("td", { textContent: t }),
      make("th", { scope: "row" }, [make("bdi", { textContent: rowLabel(labels, t) })]),
      make("td", { className: "text" }, [make("bdi", { textContent: nothing ? "nothing" : labels.columns[best.place] })]),
      nothing ? make("td") : weightCell(best.weight),
    ]);
    Object.assign(line.dataset, { axis: "row", place: t });
    return line;
  });
  const names = ["#", "row", "reads most", "weight"];
  const head = make("tr", {}, names.map((textContent) => make("th", { scope: "col", textContent })));
  return [make("caption", { textContent: "Every row" }), make("thead", {}, [head]), make("tbody", {}, lines)];
}

function showTip(event, cell) {
  const { labels, matrix, map } = now;
  const tip = at("tip");
  tip.hidden = cell === null;
  if (cell === null) return;
  const entry = lineOf(matrix, "row", cell.row)[cell.column];
  const exact = map.encoding === "float32" ? shortest(entry.weight) : `${entry.weight.toFixed(3)} ± 0.002`;
  tip.replaceChildren(
    make("b", { textContent: entry.allowed ? exact : "masked" }),
    make("span", {}, [make("bdi", { textContent: rowLabel(labels, cell.row) }), " reads ", make("bdi", { textContent: labels.columns[cell.column] })]),
  );
  const [width, height] = [tip.offsetWidth, tip.offsetHeight];
  const x = event.clientX + 16 + width > innerWidth ? event.clientX - width - 12 : event.clientX + 16;
  const y = event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18;
  tip.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
}

// ---- events

function pin(row, column) {
  const same = state.row === row && state.column === column;
  set(same ? { row: null, column: null } : { row, column });
  hover = null;
  showFocus();
  if (!same) announce();
}

function announce() {
  const { labels, matrix } = now;
  const { row, column } = state;
  const texts = [];
  if (row !== null) texts.push(rowLabel(labels, row));
  if (column !== null) texts.push(labels.columns[column]);
  if (row !== null && column !== null) {
    const entry = lineOf(matrix, "row", row)[column];
    texts.push(entry.allowed ? `weight ${entry.weight.toFixed(3)}` : "masked");
  }
  at("live").textContent = texts.join(", ");
}

function placeOf(target) {
  const found = target.closest ? target.closest("[data-axis]") : null;
  if (!found) return null;
  const place = Number(found.dataset.place);
  return found.dataset.axis === "row" ? { row: place, column: null } : { row: null, column: place };
}

function hoverOn(place) {
  if (JSON.stringify(place) === JSON.stringify(hover)) return;
  hover = place;
  showFocus();
}

function moveCell(by) {
  const { matrix } = now;
  const clamp = (value, limit) => Math.min(limit - 1, Math.max(0, value));
  const from = { row: state.row ?? 0, column: state.column ?? 0 };
  const first = state.row === null && state.column === null;
  set({
    row: first ? 0 : clamp(from.row + by[0], matrix.rows),
    column: first ? 0 : clamp(from.column + by[1], matrix.columns),
  });
  hover = null;
  showFocus();
  announce();
  const label = (id, place) => at(id).children[place].scrollIntoView({ block: "nearest", inline: "nearest" });
  label("rows", state.row);
  label("columns", state.column);
}

function stepHead(by) {
  const count = now.map.heads;
  const current = state.heads && state.heads.length === 1 ? state.heads[0] : -1;
  const next = ((current + 1 + by + count + 1) % (count + 1)) - 1;
  chooseHeads(now.map.name, next < 0 ? null : [next]);
}

function stepLayer(by) {
  const maps = mapsOfKind(now.trace, now.kind);
  const next = maps[maps.indexOf(now.map) + by];
  if (next) chooseHeads(next.name, state.heads && state.heads.every((head) => head < next.heads) ? state.heads : null);
}

function save(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function fileName(suffix) {
  return `${now.map.name}-${headName(state.heads, now.map).replace(/[ ,]+/g, "-")}.${suffix}`;
}

function listenToPlaces() {
  for (const id of ["sentence", "heat", "table"]) {
    at(id).addEventListener("pointerover", (event) => {
      if (event.pointerType === "touch" || at("plane").contains(event.target)) return;
      const place = placeOf(event.target);
      if (id === "table") return; // the table follows the focus: hovering it must not change it
      hoverOn(place);
    });
    at(id).addEventListener("pointerleave", () => hoverOn(null));
    at(id).addEventListener("click", (event) => {
      const place = placeOf(event.target);
      if (place && !at("plane").contains(event.target)) {
        const cell = id === "table" && state.row !== null && place.row === null ? { row: state.row, column: place.column } : place;
        pin(cell.row, cell.column);
      }
    });
  }
  at("plane").addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    const cell = cellAt(event);
    hoverOn(cell);
    showTip(event, cell);
  });
  at("plane").addEventListener("pointerleave", (event) => (hoverOn(null), showTip(event, null)));
  at("plane").addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell) pin(cell.row, cell.column);
  });
}

function listenToControls() {
  at("heads").addEventListener("click", (event) => {
    const button = event.target.closest(".thumb");
    if (!button) return;
    const head = button.dataset.heads === "mean" ? null : Number(button.dataset.heads);
    const adds = (event.shiftKey || event.ctrlKey || event.metaKey) && head !== null && button.dataset.map === state.map;
    if (!adds) return chooseHeads(button.dataset.map, head === null ? null : [head]);
    const others = (state.heads || []).filter((one) => one !== head);
    const heads = others.length === (state.heads || []).length ? [...others, head].sort((a, b) => a - b) : others;
    chooseHeads(state.map, heads.length ? heads : null);
  });
  at("share").addEventListener("input", () => {
    set({ share: Number(at("share").value) });
    at("share-value").textContent = `${state.share} %`;
    showFocus();
  });
  at("theme").addEventListener("click", () => {
    set({ theme: { auto: "light", light: "dark", dark: "auto" }[state.theme] });
    show();
  });
  const rows = (label) => now.labels.rows.map((_, t) => label(now.labels, t));
  at("save-csv").onclick = () => save(fileName("csv"), "text/csv", csvOf(now.matrix, rows(rowLabel), now.labels.columns));
  at("save-svg").onclick = () =>
    save(fileName("svg"), "image/svg+xml", svgOf(now.matrix, rows(isolatedLabel), now.labels.columns, at("map-name").textContent, data.scale.light.map(rgbOf)));
}

function listenToKeys() {
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    const line = event.target.closest(".tokens");
    if (event.key === "Escape") {
      set({ row: null, column: null });
      hover = null;
      at("tip").hidden = true;
      showFocus();
    } else if (line && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      event.preventDefault();
      const forward = (event.key === "ArrowRight") !== (line.dir === "rtl");
      const next = forward ? event.target.nextElementSibling : event.target.previousElementSibling;
      if (next) moveFocus(event.target, next);
    } else if (event.key in moves) {
      event.preventDefault();
      moveCell(moves[event.key]);
    } else if ("[]".includes(event.key)) stepHead(event.key === "[" ? -1 : 1);
    else if ("{}".includes(event.key)) stepLayer(event.key === "{" ? -1 : 1);
  });
}

function moveFocus(from, to) {
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
  hoverOn(placeOf(to));
}

listenToPlaces();
listenToControls();
listenToKeys();
dark.addEventListener("change", show);
window.addEventListener("hashchange", () => ((state = parseState(location.hash, data.traces)), show()));
let lastWidth = innerWidth;
window.addEventListener("resize", () => {
  if (innerWidth === lastWidth) return;
  lastWidth = innerWidth;
  boxes = null;
  sizeMap();
  showFocus();
});
show();
