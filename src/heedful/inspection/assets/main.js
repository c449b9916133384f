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
    "reader.read": ["source", "predicted"],
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
  let cell = 12;
  for (let pass = 0; pass < 3; pass++) {
    heat.style.setProperty("--cell", `${cell}px`); // larger cells have larger labels, which leave less room
    const room = heat.clientWidth - at("rows").offsetWidth - 2;
    cell = Math.max(13, Math.min(46, Math.floor(room / matrix.columns)));
  }
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
