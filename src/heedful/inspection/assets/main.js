// The page's state and panels: header, tokens, choice of layer and head, heat map. Knows no events of mouse or keys beyond
// its own buttons. What is shown follows from `state` (kept in the address) and `hover` alone.

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

function compute() {
  const trace = data.traces[state.trace];
  const map = trace.maps.find((one) => one.name === state.map);
  const kind = kindOf(map);
  const labels = labelsOf(trace, kind);
  const turned = isRightToLeft(labels.columns); // the columns begin at the right
  now = { trace, map, kind, labels, turned, matrix: matrixOf(map, headsOf(state, map)), look: look() };
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
  const { trace } = now;
  const [source, output] = [textOf(trace, "source"), textOf(trace, "output")];
  at("title").textContent = shortened(source, 300) || "∅";
  document.title = `${shortened(source, 80) || data.title} · attention`;
  at("output-text").textContent = shortened(output, 300) || "nothing";
  at("score").replaceChildren(...scoreParts(trace));
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

// The score of the output, in the words of the field, and the model that gave it.
function scoreParts({ log_p }) {
  const sum = log_p.reduce((a, b) => a + b, 0);
  const parts = [make("b", { textContent: `log-probability ${minus(sum.toFixed(3))}` })];
  if (log_p.length > 1) parts.push(`, ${minus((sum / log_p.length).toFixed(3))} a token`);
  if (data.title) parts.push(" · model ", make("bdi", { textContent: data.title }));
  return parts;
}

function minus(number) {
  return number.replace("-", "\u2212");
}

function sentenceName(trace, i) {
  return `${i} · ${shortened(textOf(trace, "source"), 60)}`;
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
    "encoder.self": ["Source", "Source"],
    "decoder.self": ["Output so far", "Next token"],
    "decoder.cross": ["Source", "Output"],
    "reader.read": ["Source", "Label"],
  }[kind];
  at("read-name").replaceChildren(names[0], make("small", { textContent: "is attended to (keys)" }));
  at("query-name").replaceChildren(names[1], make("small", { textContent: "attends (queries)" }));
  fillTokens(at("read"), labels.columns, "column", null);
  fillTokens(at("query"), labels.rows, "row", labels.before ? trace.log_p : null);
  const ribbon = make("span", {}, [make("i", { className: "ribbon" }), " a ribbon is a large attention weight: the thicker, the larger"]);
  const bar = make("span", {}, [make("i", { className: "p" }), " the bar below a token is its probability, given those before it: full width is 1"]);
  at("legend").replaceChildren(ribbon, ...(labels.before ? [bar] : []));
  boxes = null;
}

function fillTokens(line, tokens, axis, log_p) {
  line.dir = isRightToLeft(tokens) ? "rtl" : "ltr";
  line.replaceChildren(
    ...tokens.map((token, place) => {
      const chip = make("button", { type: "button", className: "token", tabIndex: place === 0 ? 0 : -1 }, [piece(token)]);
      chip.dataset.axis = axis;
      chip.dataset.place = place;
      if (log_p) {
        const p = Math.exp(log_p[place]);
        const bar = make("i", { className: "p" });
        bar.style.setProperty("--p", `${Math.round(100 * p)}%`);
        chip.append(bar);
        chip.title = `${isolatedLabel(now.labels, place)}: probability ${p.toFixed(3)}, log ${log_p[place].toFixed(3)}`;
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
      button.title = KIND_NOTES[one];
      return button;
    }),
  );
  at("kind-note").textContent = `${KIND_NOTES[kind]} Each small map is a head of a layer; choose one.`;
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
  at("share-value").textContent = `${state.share}\u00a0%`;
  markChoice(map);
}

function thumb(map, heads) {
  const canvas = make("canvas");
  const grey = document.documentElement.dataset.theme === "dark" || (state.theme === "auto" && dark.matches) ? 46 : 228;
  const matrix = matrixOf(map, heads || headsOf({ heads: null }, map));
  paintPixels(canvas, now.turned ? mirrored(matrix) : matrix, now.look.scale, [grey, grey, grey, 255]);
  canvas.className = Math.max(map.rows, map.columns) > 40 ? "fine" : "";
  const button = make("button", { type: "button", className: "thumb", title: `${mapTitle(map)}, ${headName(heads, map)}` }, [canvas]);
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

function showMap() {
  const { map, kind, labels, matrix, turned } = now;
  document.querySelector("main").classList.toggle("long", matrix.columns > 30);
  at("map-name").textContent = `${mapTitle(map)} · ${headName(state.heads, map)}`;
  at("heat").dir = turned ? "rtl" : "ltr";
  at("corner").querySelector("b").textContent = turned ? "←" : "→";
  const fill = (id, texts, axis) =>
    at(id).replaceChildren(
      ...texts.map((text, place) => {
        const label = make("div", { className: "label", title: axis === "row" ? isolatedLabel(labels, place) : text.textContent }, [text]);
        Object.assign(label.dataset, { axis, place });
        return label;
      }),
    );
  fill("columns", labels.columns.map((text) => make("span", {}, [piece(text)])), "column");
  fill("rows", labels.rows.map((_, t) => rowNode(labels, t)), "row");
  const steps = data.scale.light.map((_, i) => `rgb(${now.look.scale[i]})`);
  at("scale").style.background = `linear-gradient(90deg, ${steps.join(",")})`;
  at("map-note").textContent =
    `Rows: ${ROW_NOTES[kind]} (the query). Columns: ${COLUMN_NOTES[kind]} (the keys). A cell is the share of a row's attention that goes to a column. ` +
    (map.encoding === "uint8" ? "Weights are rounded to 1/255 in this file. " : "") +
    (matrix.allowed.includes(0) ? "Hatched: masked, may not be attended to." : "");
  sizeMap();
}

function piece(text) {
  return make("bdi", { textContent: text });
}

// The label of a row: from left to right in every script, so that the arrow points from consumed to predicted.
function rowNode(labels, t) {
  return make("span", { dir: "ltr", className: "step" }, labels.before ? [piece(labels.before[t]), " → ", piece(labels.rows[t])] : [piece(labels.rows[t])]);
}

const SLANT = (50 * Math.PI) / 180; // of column labels that are wider than a cell
const [SMALLEST_CELL, COMFORTABLE_CELL, LARGEST_CELL] = [13, 30, 76];

function sizeMap() {
  const { matrix, turned, look: colours } = now;
  const heat = at("heat");
  let cell = SMALLEST_CELL;
  for (let pass = 0; pass < 4; pass++) {
    const overhang = sizeLabels(cell); // larger cells have larger labels, which leave less room
    const wide = heat.parentElement.clientWidth - 2 * parseFloat(getComputedStyle(heat.parentElement).paddingLeft);
    const across = (wide - at("rows").offsetWidth - overhang - 2) / matrix.columns;
    const headings = at("columns").offsetHeight + 2;
    const down = (roomBelow() - headings) / matrix.rows;
    const comfortable = Math.min(COMFORTABLE_CELL, (0.85 * innerHeight - headings) / matrix.rows);
    cell = Math.max(SMALLEST_CELL, Math.min(LARGEST_CELL, Math.floor(Math.min(across, Math.max(down, comfortable)))));
  }
  sizeLabels(cell);
  now.cell = cell;
  paintCells(at("cells"), turned ? mirrored(matrix) : matrix, cell, colours);
}

// The height that the map may take without the page becoming longer than the window; where the panels stand below each
// other, the page scrolls anyway, and cells are as large as they read well.
function roomBelow() {
  if (innerWidth <= 1180) return now.matrix.rows * 48 + at("columns").offsetHeight;
  const top = at("heat").getBoundingClientRect().top + scrollY;
  return innerHeight - top - at("map-note").offsetHeight - document.querySelector("footer").offsetHeight - 44;
}

// Sets cells and labels to this size, and returns how far the last label stands out over its column. Column labels stand
// upright where they fit; those that do not rise in the direction of reading, and all do where more than a third is wide.
function sizeLabels(cell) {
  const heat = at("heat");
  heat.style.setProperty("--cell", `${cell}px`);
  const labels = [...at("columns").children];
  labels.forEach((label) => label.classList.remove("slant"));
  const widths = labels.map((label) => label.firstChild.offsetWidth);
  const wide = widths.map((width) => width > cell - 2);
  const all = 3 * wide.filter(Boolean).length > labels.length;
  const slanted = wide.map((one) => one || all);
  labels.forEach((label, place) => label.classList.toggle("slant", slanted[place]));
  const reach = widths.filter((_, place) => slanted[place]);
  const above = reach.length ? Math.max(...reach) * Math.sin(SLANT) + 26 : 28;
  const overhang = slanted.at(-1) ? Math.max(0, widths.at(-1) * Math.cos(SLANT) + 8 - cell / 2) : 0;
  heat.style.setProperty("--above", `${Math.ceil(above)}px`);
  heat.style.setProperty("--overhang", `${Math.ceil(overhang)}px`);
  return Math.ceil(overhang);
}

function cellAt(event) {
  const box = at("cells").getBoundingClientRect();
  const row = Math.floor((event.clientY - box.top) / now.cell);
  const place = Math.floor((event.clientX - box.left) / now.cell);
  const column = now.turned ? now.matrix.columns - 1 - place : place;
  const inside = row >= 0 && row < now.matrix.rows && column >= 0 && column < now.matrix.columns;
  return inside ? { row, column } : null;
}
